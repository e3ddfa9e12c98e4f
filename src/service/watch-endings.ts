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

/** Repeats `work`, but never twice at a time. A failure is logged; the next time tries again. */
export function repeatAlone(
  { repeat, log }: { readonly repeat: Repeat; readonly log: Log },
  work: () => Promise<void>,
  { everyMs, name }: { readonly everyMs: number; readonly name: string },
): () => void {
  let isAtWork = false;
  return repeat(() => {
    if (isAtWork) return;
    isAtWork = true;
    work()
      .catch((error: unknown) => log.warn({ err: error }, `${name} failed`))
      .finally(() => {
        isAtWork = false;
      });
  }, everyMs);
}

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
  const { store, endings } = parts;
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
  // Without the database, no key ends; the next check tries again.
  return repeatAlone(parts, look, { everyMs: ENDINGS_EVERY_MS, name: "check for revoked keys" });
}
