import { Mailbox } from "./mailbox.js";

/** What an actor does about one message: its next state and the effects to carry out, in order. */
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
  /** A throw in `decide` or `perform` is our mistake: the actor takes nothing more and says so here, once. */
  readonly onCrash: (error: unknown) => void;
}

const DEFAULT_MAILBOX_CAPACITY = 1_024;

/**
 * Owns a state and takes one message at a time.
 *
 * A message is handled in the caller's own turn of the event loop, so a socket message reaches the ring without a
 * detour; only messages sent while another is being handled wait in the mailbox.
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

  /** Hands over a message; false when the actor has stopped or its mailbox is full. */
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

  /** Takes no more messages; those that wait are dropped. May be called twice. */
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
