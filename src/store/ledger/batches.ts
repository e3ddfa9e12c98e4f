import { within } from "../postgres/within.js";

/** Statements at a time, not counted those that wait for an account which another service has. */
const UNDER_WAY = 2;
/** Of one statement, so that it holds no account for long. */
const MOST_CHANGES = 64;
/** Longer than clients wait, and than a statement waits for locks: one that the driver has lost must not stop the others. */
const ANSWER_MS = 5_000;

/** What another transaction has locked; it was not done. */
export const BUSY = Symbol("busy");

/**
 * One statement for all that was asked.
 *
 * @param isWaiting waits for locks; without, what is locked is answered with `BUSY`
 * @returns an answer for each question, in their order
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
 * Questions to the database that go together: the first at once, those that come while statements are under way in the next
 * one. Nothing waits for a time.
 *
 * Of one organization no two statements are under way, since they would wait for each other. A statement waits for no lock:
 * what another service has locked is asked again, organization by organization, and then waits for its own account alone.
 */
export class Batches<Question extends { readonly organizationId: string }, Answer> {
  readonly #askTogether: AskTogether<Question, Answer>;
  /** By organization, from the one whose turn is next. */
  readonly #asked = new Map<string, Asked<Question, Answer>[]>();
  /** Organizations of which a statement is under way. */
  readonly #organizations = new Set<string>();
  #underWay = 0;
  readonly #answerMs: number;

  /** @param answerMs after which a statement counts as failed, although it may have been carried out */
  constructor(askTogether: AskTogether<Question, Answer>, answerMs = ANSWER_MS) {
    this.#askTogether = askTogether;
    this.#answerMs = answerMs;
  }

  /** Fails as the statement does that it is part of. */
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
    while (this.#underWay < UNDER_WAY) {
      const batch = this.#next();
      if (batch.length === 0) return;
      this.#underWay++;
      void this.#send(batch).finally(() => {
        this.#underWay--;
        this.#start();
      });
    }
  }

  /** In turn by organization; within one as they were asked. */
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
        if (answer === BUSY) reject(new Error("a statement that waits for locks found one"));
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

/** A value that the schema refuses: nothing was done, and the others have no part in it. */
function isAboutOne(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^2[23]/.test(String(error.code));
}
