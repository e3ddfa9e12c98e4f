/** Settles when a host that takes no more work has none left, or after a limit. */
export class Emptied {
  #tell: () => void = () => {};

  /** @param isEmpty whether there is none left already */
  async within(milliseconds: number, isEmpty: boolean): Promise<void> {
    if (isEmpty) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#tell = resolve;
      timer = setTimeout(resolve, milliseconds);
    });
    clearTimeout(timer);
  }

  /** The last work has ended. */
  tell(): void {
    this.#tell();
  }
}
