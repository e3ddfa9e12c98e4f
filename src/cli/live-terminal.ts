import type { WriteStream } from "node:tty";

const CLEAR_LINE = "\r\x1b[K";
const DEFAULT_COLUMNS = 80;

/** Shows partial text on one line of a terminal; other outputs get only final text. */
export class LiveTerminal {
  readonly #stream: Pick<WriteStream, "write"> & { isTTY?: boolean; columns?: number };

  constructor(stream: Pick<WriteStream, "write"> & { isTTY?: boolean; columns?: number }) {
    this.#stream = stream;
  }

  partial(text: string): void {
    if (this.#stream.isTTY !== true) return;
    const columns = this.#stream.columns ?? DEFAULT_COLUMNS;
    // Show the end, which changes most; a wrapped line could not be overwritten.
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
