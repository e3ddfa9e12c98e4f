import { within } from "../postgres/within.js";

/**
 * Most concurrent statements, not counting those that wait for an account that another service has locked.
 */
const MOST_STATEMENTS = 2;
/** Most changes per statement, so that no statement locks accounts for long. */
const MOST_CHANGES = 64;
/**
 * Longer than clients and locks are waited for. A statement that the driver lost must not block others
 * forever.
 */
const ANSWER_MS = 5_000;

/** Result of a change that was not made because another transaction holds the lock. */
export const BUSY = Symbol("busy");

/**
 * Runs one statement for all queries.
 * @param isWaiting whether to wait for locks instead of returning `BUSY`
 * @returns one result per query, in order
 */
export type AskTogether<Question, Answer> = (
  questions: readonly Question[],
  isWaiting: boolean,
) => Promise<readonly (Answer | typeof BUSY)[]>;

interface Asked<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Batches queries to the database. The first is sent immediately; those that arrive during a statement go
 * into the next one. There is no timer.
 *
 * An organization never has two statements in flight, because they would wait for each other. Statements do
 * not wait for locks: queries on accounts that another service has locked are repeated, per organization, in
 * a statement that does.
 */
export class Batches<Question extends { readonly organizationId: string }, Answer> {
  readonly #askTogether: AskTogether<Question, Answer>;
  /** Queries by organization, the next one first. */
  readonly #asked = new Map<string, Asked<Question, Answer>[]>();
  /** Organizations with a statement in flight. */
  readonly #organizations = new Set<string>();
  #statements = 0;
  readonly #answerMs: number;

  /** @param answerMs time after which a statement counts as failed, although it may have succeeded */
  constructor(askTogether: AskTogether<Question, Answer>, answerMs = ANSWER_MS) {
    this.#askTogether = askTogether;
    this.#answerMs = answerMs;
  }

  /** Adds a query. Rejects if its statement fails. */
  ask(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue([{ question, resolve, reject }]);
      this.#start();
    });
  }

  #queue(asked: readonly Asked<Question, Answer>[]): void {
    for (const each of asked) {
      const { organizationId } = each.question;
      const others = this.#asked.get(organizationId);
      if (others === undefined) this.#asked.set(organizationId, [each]);
      else others.push(each);
    }
  }

  #start(): void {
    while (this.#statements < MOST_STATEMENTS) {
      const batch = this.#next();
      if (batch.length === 0) return;
      this.#statements++;
      void this.#send(batch).finally(() => {
        this.#statements--;
        this.#start();
      });
    }
  }

  /** Takes the next batch, round robin by organization. */
  #next(): Asked<Question, Answer>[] {
    const batch: Asked<Question, Answer>[] = [];
    const ready = [...this.#asked.keys()].filter(
      (organizationId) => !this.#organizations.has(organizationId),
    );
    for (const organizationId of ready) {
      const asked = this.#asked.get(organizationId)!;
      this.#asked.delete(organizationId);
      this.#organizations.add(organizationId);
      batch.push(...asked.splice(0, MOST_CHANGES - batch.length));
      if (asked.length > 0) this.#asked.set(organizationId, asked);
      if (batch.length === MOST_CHANGES) break;
    }
    return batch;
  }

  async #send(batch: readonly Asked<Question, Answer>[]): Promise<void> {
    const busy = new Map<string, Asked<Question, Answer>[]>();
    try {
      const answers = await this.#answersTo(batch, false);
      for (const [index, asked] of batch.entries()) {
        const answer = answers[index]!;
        const { organizationId } = asked.question;
        if (answer !== BUSY) asked.resolve(answer);
        else busy.set(organizationId, [...(busy.get(organizationId) ?? []), asked]);
      }
    } catch (error) {
      if (batch.length > 1 && isAboutOne(error)) for (const asked of batch) await this.#sendWaiting([asked]);
      else for (const { reject } of batch) reject(error);
    }
    for (const { question } of batch)
      if (!busy.has(question.organizationId)) this.#organizations.delete(question.organizationId);
    for (const [organizationId, asked] of busy) {
      void this.#sendWaiting(asked).finally(() => {
        this.#organizations.delete(organizationId);
        this.#start();
      });
    }
  }

  async #sendWaiting(asked: readonly Asked<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.#answersTo(asked, true);
      for (const [index, { resolve, reject }] of asked.entries()) {
        const answer = answers[index]!;
        if (answer === BUSY) reject(new Error('a statement that waits for locks returned "busy"'));
        else resolve(answer);
      }
    } catch (error) {
      if (asked.length > 1 && isAboutOne(error)) for (const each of asked) await this.#sendWaiting([each]);
      else for (const { reject } of asked) reject(error);
    }
  }

  #answersTo(batch: readonly Asked<Question, Answer>[], isWaiting: boolean) {
    const questions = batch.map(({ question }) => question);
    return within(this.#answerMs, this.#askTogether(questions, isWaiting));
  }
}

/**
 * Returns whether the schema rejected a value of one query. In that case the other queries changed nothing
 * either.
 */
function isAboutOne(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));
}
