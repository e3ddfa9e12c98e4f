/** Lets a host that accepts no more work wait until its last work has ended. */
export class Drained {
  #resolve: () => void = () => {};

  /** Resolves when there is no work left, or after `milliseconds`. */
  async within(milliseconds: number, isEmpty: boolean): Promise<void> {
    if (isEmpty) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#resolve = resolve;
      timer = setTimeout(resolve, milliseconds);
    });
    clearTimeout(timer);
  }

  /** Called when the last work has ended. */
  notify(): void {
    this.#resolve();
  }
}
