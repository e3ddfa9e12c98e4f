import type { Holds, LeftHold } from "./holds.js";

/**
 * Settles holds of services that are gone. Live sessions are charged for the audio that was journaled, other work for
 * what had reached its client: of that the database knows nothing, only the journal of the service that did the work.
 * Where that is not at hand an answer that did not become complete is not paid for.
 *
 * Safe beside other sweeps: each step asks for the state it starts from.
 *
 * @param journaled units by hold, from the journal of the service that is gone
 * @returns how many holds there were
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
 * Settles holds of this service whose work is over, as it knows, and which are open all the same: an asynchronous standby
 * that was promoted has forgotten how they ended. The journal has forgotten them too, so that they are given back, but for
 * audio that the database has noted.
 *
 * @param isInWork whether something may still be done about a hold; from before it is opened until its end is written
 * @returns how many holds there were
 */
export async function sweepOwn(
  holds: Holds,
  serviceId: string,
  isInWork: (id: string) => boolean,
): Promise<number> {
  const suspects = (await holds.listOf(serviceId)).filter(({ id }) => !isInWork(id));
  if (suspects.length === 0) return 0;
  // The end of one may have been written while the answer was on its way: the next answer knows of it.
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
  // Audio may have run ahead of the hold by the time that an extension takes.
  const price = await holds.priceOf(id, units);
  if (price === null) return;
  await holds.extend(id, price);
  await holds.post(id, units, "settled");
}
