import { setImmediate as nextTurn } from "node:timers/promises";
import type { LongBody } from "./long-body.js";

/** Entries of a list that are written in one turn of the event loop: words and segments take a microsecond each. */
const ENTRIES_PER_TURN = 2_000;

/** What `JSON.stringify` makes of an object; its long lists are written some entries a turn. */
export async function jsonInTurns(value: object): Promise<LongBody> {
  const parts: Uint8Array[] = [];
  let open = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    open += `${JSON.stringify(name)}:`;
    if (Array.isArray(member) && member.length > ENTRIES_PER_TURN) {
      open += "[";
      for (let start = 0; start < member.length; start += ENTRIES_PER_TURN) {
        const entries = JSON.stringify(member.slice(start, start + ENTRIES_PER_TURN)).slice(1, -1);
        parts.push(Buffer.from(open + entries));
        open = ",";
        await nextTurn();
      }
      open = "],";
    } else {
      open += `${JSON.stringify(member)},`;
    }
  }
  parts.push(Buffer.from(`${open.endsWith(",") ? open.slice(0, -1) : open}}`));
  return { bytes: parts.reduce((sum, part) => sum + part.length, 0), parts };
}
