import type { Holds } from "./holds.js";

/**
 * Settles holds of services that are gone. Live sessions are charged for the audio that was journaled. Other work that
 * was not charged had delivered nothing; a charge whose answer did not become complete is given back.
 *
 * Safe beside other sweeps: each step asks for the state it starts from.
 *
 * @returns how many holds there were
 */
export async function sweep(holds: Holds): Promise<number> {
  const left = await holds.listLeft();
  for (const { id, kind, state, units } of left) {
    if (state === "posted") await holds.refund(id, 0);
    else if (kind !== "live" || units === 0) await holds.voidLeft(id);
    else {
      // Audio may have run ahead of the hold by the time that an extension takes.
      const price = await holds.priceOf(id, units);
      if (price === null) continue;
      await holds.extend(id, price);
      await holds.post(id, units, "settled");
    }
  }
  return left.length;
}
