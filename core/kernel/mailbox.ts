/** A bounded first-in first-out queue. When full it refuses: the sender decides what that means. */
export class Mailbox<Message> {
  readonly capacity: number;
  #messages: Message[] = [];
  #head = 0;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1) {
      throw new RangeError(
        `Cannot make a mailbox: capacity must be a positive integer, received ${capacity}`,
      );
    }
    this.capacity = capacity;
  }

  get size(): number {
    return this.#messages.length - this.#head;
  }

  /** Returns false, and keeps nothing, when the mailbox is full. */
  post(message: Message): boolean {
    if (this.size >= this.capacity) return false;
    this.#messages.push(message);
    return true;
  }

  /** The oldest message, or undefined when empty. */
  take(): Message | undefined {
    if (this.#head === this.#messages.length) return undefined;
    const message = this.#messages[this.#head];
    this.#messages[this.#head] = undefined as Message;
    this.#head++;
    // Compact now and then instead of shifting each time: taking stays constant on average.
    if (this.#head === this.#messages.length || this.#head > 1_024) {
      this.#messages.splice(0, this.#head);
      this.#head = 0;
    }
    return message;
  }

  clear(): void {
    this.#messages = [];
    this.#head = 0;
  }
}
