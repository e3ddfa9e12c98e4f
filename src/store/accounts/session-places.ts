import { ServiceError } from "../../../core/domain/errors.js";
import type { Log } from "../../../core/observe/log.js";
import type { SessionPlace, SessionPlaces, Users } from "../../../core/ports/console-store.js";
import { within } from "../postgres/within.js";

/** A question that a client waits for. */
const ANSWER_MS = 3_000;

/** The same look-up as the console's own, for requests with a key of the playground. */
export class PostgresSessionPlaces implements SessionPlaces {
  readonly #users: Pick<Users, "goodPlaces">;
  readonly #log: Log;

  constructor(users: Pick<Users, "goodPlaces">, log: Log) {
    this.#users = users;
    this.#log = log;
  }

  async isGood(place: SessionPlace): Promise<boolean> {
    try {
      return (await within(ANSWER_MS, this.#users.goodPlaces([place]))).length > 0;
    } catch (cause) {
      this.#log.warn({ err: cause }, "session of a playground key not looked up");
      throw new ServiceError("AUTH_UNAVAILABLE", "Cannot check the API key: its session is not known", {
        cause,
      });
    }
  }
}
