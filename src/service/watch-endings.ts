import type { Log } from "../../core/observe/log.js";
import type { KeyEndings } from "../http/key-endings.js";
import type { Store } from "../store/store.js";

/** Look-ups of keys are cached for the same time. */
const ENDINGS_EVERY_MS = 30_000;

/** Calls `act` every `everyMs`. @returns a function that stops the calls */
export type Repeat = (act: () => void, everyMs: number) => () => void;

export const repeatByTimer: Repeat = (act, everyMs) => {
  const timer = setInterval(act, everyMs);
  return () => clearInterval(timer);
};

/**
 * Checks every half minute whether the keys of open live sockets, and the sessions behind playground keys,
 * were revoked by a command, or by another service on the same database. This service knows immediately about
 * those that it ends itself.
 *
 * @returns a function that stops the checks
 */
export function watchEndings(parts: {
  readonly store: Store;
  readonly endings: KeyEndings;
  readonly repeat: Repeat;
  readonly log: Log;
}): () => void {
  const { store, endings, repeat, log } = parts;
  const look = async () => {
    for (const key of await store.apiKeys.endedAmong(endings.watchedKeys)) {
      if (key.isRevoked) endings.endKey(key.id);
      else if (key.isExpired) endings.expireKey(key.id);
      else endings.rotateKey(key.id, key);
    }
    const places = endings.watchedPlaces;
    const good = new Set(await store.console.users.goodPlaces(places));
    for (const place of places) if (!good.has(place)) endings.endPlace(place);
  };
  let isLooking = false;
  return repeat(() => {
    if (isLooking) return;
    isLooking = true;
    // Without the database, no key ends. The next check tries again.
    look()
      .catch((error: unknown) => log.warn({ err: error }, "check for revoked keys failed"))
      .finally(() => {
        isLooking = false;
      });
  }, ENDINGS_EVERY_MS);
}
