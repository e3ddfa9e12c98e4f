interface Reader<Item> {
  readonly settle: (result: IteratorResult<Item, void>) => void;
  readonly fail: (error: unknown) => void;
}

/** Queues items for one reader, in order. */
export class ItemQueue<Item> {
  #items: Item[] = [];
  #reader: Reader<Item> | null = null;
  #ending: { readonly error: unknown } | "ended" | null = null;

  push(item: Item): void {
    if (this.#ending !== null) return;
    if (this.#reader !== null) {
      this.#takeReader()?.settle({ done: false, value: item });
      return;
    }
    const last = this.#items.at(-1);
    if (last !== undefined && this.isReplaced(last, item)) this.#items.pop();
    this.#items.push(item);
  }

  /** Drops all items that have not been read. */
  clear(): void {
    this.#items = [];
  }

  end(): void {
    this.#ending ??= "ended";
    this.#takeReader()?.settle({ done: true, value: undefined });
  }

  /** Makes the reader fail after it has read the queued items. */
  fail(error: unknown): void {
    this.#ending ??= { error };
    this.#takeReader()?.fail(error);
  }

  next(): Promise<IteratorResult<Item, void>> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    if (this.#ending === "ended") return Promise.resolve({ done: true, value: undefined });
    if (this.#ending !== null) return Promise.reject(this.#ending.error);
    return new Promise((settle, fail) => {
      this.#reader = { settle, fail };
    });
  }

  /** Returns whether the last item, which was not read, is dropped because of the next one. */
  protected isReplaced(_last: Item, _next: Item): boolean {
    return false;
  }

  #takeReader(): Reader<Item> | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}
