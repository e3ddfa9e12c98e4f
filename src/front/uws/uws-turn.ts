/** So many requests may be answered at once in one turn of the event loop. */
const REQUESTS_PER_TURN = 32;

/**
 * What one turn of the event loop does with the requests that are read in it.
 *
 * The library takes requests that follow one another on a connection apart in one go, some 15,000 of one read. It cuts the
 * connection when one comes while the answer to the one before is due: so answers beyond a few wait for the turn's end,
 * which costs other connections nothing.
 */
export class UwsTurn {
  #requestCount = 0;
  #waiting: (() => void)[] = [];
  #isEndDue = false;
  readonly #onEnd = () => this.#end();

  /** Counts a request; whether it may be answered at once. */
  hasRoom(): boolean {
    this.#awaitEnd();
    return ++this.#requestCount <= REQUESTS_PER_TURN;
  }

  /** Calls `what` when everything that was read in this turn has been taken apart. */
  after(what: () => void): void {
    this.#awaitEnd();
    this.#waiting.push(what);
  }

  #awaitEnd(): void {
    if (this.#isEndDue) return;
    this.#isEndDue = true;
    setImmediate(this.#onEnd);
  }

  #end(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#requestCount = 0;
    this.#isEndDue = false;
    for (const what of waiting) what();
  }
}
