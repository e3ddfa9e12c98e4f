import type { Holds, LeftHold } from "./holds.js";

/**
 * Settles holds of stopped services. Live sessions are charged for the audio in the journal, other work for
 * what had reached its client. Only the file journal of the service that did the work knows the latter;
 * without it, incomplete responses are not charged. Concurrent sweeps are safe, because each step checks the
 * state it starts from.
 *
 * @param journaled units by hold, from the file journal of a stopped service
 * @returns how many holds were settled
 */
export async function sweep(
  holds: Holds,
  journaled: ReadonlyMap<string, number> = new Map(),
): Promise<number> {
  const left = await holds.listLeft();
  await settleAll(holds, left, journaled);
  return left.length;
}

/**
 * Settles holds of this service that the database considers active although their work has ended; this
 * happens after the promotion of an asynchronous standby. The file journal has already dropped them, so they
 * are released, except for audio that the database's journal contains.
 *
 * @param isActive returns true from before a hold is opened until its end is written
 * @returns how many holds were settled
 */
export async function sweepOwn(
  holds: Holds,
  serviceId: string,
  isActive: (id: string) => boolean,
): Promise<number> {
  const suspects = (await holds.listOf(serviceId)).filter(({ id }) => !isActive(id));
  if (suspects.length === 0) return 0;
  // Query again, because some may have ended while the first result was in flight.
  const open = new Set((await holds.listOf(serviceId)).map(({ id }) => id));
  const forgotten = suspects.filter(({ id }) => open.has(id));
  await settleAll(holds, forgotten, new Map());
  return forgotten.length;
}

async function settleAll(
  holds: Holds,
  left: readonly LeftHold[],
  journaled: ReadonlyMap<string, number>,
): Promise<void> {
  for (const { id, kind, state, units } of left) {
    const delivered = journaled.get(id) ?? 0;
    if (state === "posted") await holds.refund(id, delivered);
    else if (kind === "live") await settleLive(holds, id, Math.max(units, delivered));
    else if (delivered > 0) await holds.post(id, delivered, "settled");
    else await holds.voidLeft(id);
  }
}

async function settleLive(holds: Holds, id: string, units: number): Promise<void> {
  if (units === 0) return await holds.voidLeft(id);
  // Audio may have run ahead of the hold while it was extended.
  const price = await holds.priceOf(id, units);
  if (price === null) return;
  await holds.extend(id, price);
  await holds.post(id, units, "settled");
}
