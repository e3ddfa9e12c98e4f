import type { Log } from "../../core/observe/log.js";
import type { KeyEndings } from "../http/key-endings.js";
import type { Store } from "../store/store.js";

/** As long as look-ups of keys are remembered. */
const ENDINGS_EVERY_MS = 30_000;

/** Calls `act` every `everyMs` until what it returns is called. */
export type Repeat = (act: () => void, everyMs: number) => () => void;

export const repeatByTimer: Repeat = (act, everyMs) => {
  const timer = setInterval(act, everyMs);
  return () => clearInterval(timer);
};

/**
 * Asks every half minute whether keys at work on live sockets, and sessions behind those of the playground, were ended
 * elsewhere: by a command, or by another service on the same database. What ends here is told at once. Returns how to
 * stop asking.
 */
export function watchEndings(parts: {
  readonly store: Store;
  readonly endings: KeyEndings;
  readonly repeat: Repeat;
  readonly log: Log;
}): () => void {
  const { store, endings, repeat, log } = parts;
  const look = async () => {
    for (const id of await store.apiKeys.revokedAmong(endings.watchedKeys)) endings.endKey(id);
    const places = endings.watchedPlaces;
    const good = new Set(await store.console.users.goodPlaces(places));
    for (const place of places) if (!good.has(place)) endings.endPlace(place);
  };
  let isLooking = false;
  return repeat(() => {
    if (isLooking) return;
    isLooking = true;
    // A database that is away ends nobody: it is asked again.
    look()
      .catch((error: unknown) => log.warn({ err: error }, "ended keys not looked up"))
      .finally(() => {
        isLooking = false;
      });
  }, ENDINGS_EVERY_MS);
}
