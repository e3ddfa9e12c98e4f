/** An actor's answer to one message: its next state, and effects to carry out in order. */
export interface Decision<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export interface ActorOptions<State, Message, Effect> {
  readonly initial: State;
  /** Pure: the same state and message always give the same decision. */
  readonly decide: (state: State, message: Message) => Decision<State, Effect>;
  /** Carries out one effect. It may `tell` the actor; that message waits until this one is done. */
  readonly perform: (effect: Effect) => void;
  /** Messages that may wait while another is being handled. */
  readonly mailboxCapacity?: number;
  /** Called once if `decide` or `perform` throws, which is a bug; the actor has already stopped. */
  readonly onCrash: (error: unknown) => void;
}

const DEFAULT_MAILBOX_CAPACITY = 1_024;

/**
 * Owns a state and handles one message at a time.
 *
 * A message is handled in the caller's own turn of the event loop, so audio from a socket reaches the ring
 * immediately. Only messages sent while another one is being handled wait in the mailbox.
 */
export class Actor<State, Message, Effect> {
  #state: State;
  #isHandling = false;
  #isStopped = false;
  readonly #mailbox: Mailbox<Message>;
  readonly #options: ActorOptions<State, Message, Effect>;

  constructor(options: ActorOptions<State, Message, Effect>) {
    this.#options = options;
    this.#state = options.initial;
    this.#mailbox = new Mailbox(options.mailboxCapacity ?? DEFAULT_MAILBOX_CAPACITY);
  }

  get state(): State {
    return this.#state;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Sends a message; false when the actor has stopped or its mailbox is full. */
  tell(message: Message): boolean {
    if (this.#isStopped) return false;
    if (this.#isHandling) return this.#mailbox.post(message);
    this.#isHandling = true;
    try {
      let next: Message | undefined = message;
      while (next !== undefined && !this.#isStopped) {
        this.#handle(next);
        next = this.#mailbox.take();
      }
    } finally {
      this.#isHandling = false;
    }
    return true;
  }

  /** Drops waiting messages and accepts no more. May be called twice. */
  stop(): void {
    this.#isStopped = true;
    this.#mailbox.clear();
  }

  #handle(message: Message): void {
    try {
      const decision = this.#options.decide(this.#state, message);
      this.#state = decision.state;
      for (const effect of decision.effects) this.#options.perform(effect);
    } catch (error) {
      this.stop();
      this.#options.onCrash(error);
    }
  }
}

/** A bounded FIFO queue. When full it rejects messages, which the sender must handle. */
export class Mailbox<Message> {
  readonly capacity: number;
  #messages: Message[] = [];
  #head = 0;

  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1)
      throw new RangeError(`mailbox capacity must be a positive integer, received ${capacity}`);
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

  /** Removes and returns the oldest message; undefined when empty. */
  take(): Message | undefined {
    if (this.#head === this.#messages.length) return undefined;
    const message = this.#messages[this.#head];
    this.#messages[this.#head] = undefined as Message;
    this.#head++;
    // Compact occasionally instead of shifting each time: taking stays constant on average.
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
