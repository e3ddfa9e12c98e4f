import type { WriteStream } from "node:tty";

const CLEAR_LINE = "\r\x1b[K";
const DEFAULT_COLUMNS = 80;

/** Text that is still changing, on one line of a terminal; anywhere else only text that stays. */
export class LiveTerminal {
  readonly #stream: Pick<WriteStream, "write"> & { isTTY?: boolean; columns?: number };

  constructor(stream: Pick<WriteStream, "write"> & { isTTY?: boolean; columns?: number }) {
    this.#stream = stream;
  }

  partial(text: string): void {
    if (this.#stream.isTTY !== true) return;
    const columns = this.#stream.columns ?? DEFAULT_COLUMNS;
    // The end of a long text is what changes; a line that wraps could not be overwritten.
    this.#stream.write(
      CLEAR_LINE +
        Array.from(text)
          .slice(1 - columns)
          .join(""),
    );
  }

  final(text: string): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE);
    if (text !== "") this.#stream.write(`${text}\n`);
  }
}
