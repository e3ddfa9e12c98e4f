import { groupBy } from "../../bench/evaluate/group-by.js";
import type { HistoryEvent } from "./history.js";

type EventOf<Type extends HistoryEvent["type"]> = Extract<HistoryEvent, { readonly type: Type }>;
type Hold = EventOf<"ledger">["holds"][number];

/**
 * Checks what clients saw against the ledger and against the responses of an undisturbed fleet.
 *
 * @returns one line for each broken promise, which names the request or session; empty if all were kept
 */
export function violationsOf(history: readonly HistoryEvent[]): readonly string[] {
  const ledger = only(history, "ledger").at(-1);
  if (ledger === undefined) return ["history: has no ledger"];
  const holds = new Map(ledger.holds.map((hold) => [hold.id, hold]));
  const requests = requestViolations(history, holds, ledger.keys);
  const live = liveViolations(history, holds);
  const undisturbed = [
    ...only(history, "reference response").map(({ chargedId }) => chargedId),
    ...only(history, "reference finals").flatMap(({ ids }) => ids),
  ];
  const claimed = new Set([...requests.claimed, ...live.claimed, ...undisturbed]);
  return [
    ...only(history, "unsound").map(({ detail }) => `fleet: ${detail}`),
    ...requests.violations,
    ...live.violations,
    ...ledger.holds.flatMap((hold) => holdViolations(hold, claimed)),
    ...ledger.brokenRules.map((rule) => `ledger: broken rule ${JSON.stringify(rule)}`),
  ];
}

interface Checked {
  readonly violations: readonly string[];
  /** The IDs of holds that belong to a client's work. */
  readonly claimed: readonly string[];
}

function holdViolations({ id, kind, state, credits, charges }: Hold, claimed: ReadonlySet<string>): string[] {
  return [
    ...(state === "open" || state === "posted" ? [`hold ${id}: still ${state}`] : []),
    ...(charges > 1 ? [`hold ${id}: charged ${charges} times`] : []),
    ...(credits > 0 && !claimed.has(id)
      ? [`hold ${id}: ${credits} credits for ${kind} that no client got`]
      : []),
  ];
}

/** Checks that each request got one response, equal to that of an undisturbed fleet, and was charged once. */
function requestViolations(
  history: readonly HistoryEvent[],
  holds: ReadonlyMap<string, Hold>,
  keys: EventOf<"ledger">["keys"],
): Checked {
  const references = new Map(only(history, "reference response").map((event) => [event.work, event]));
  const rows = new Map(keys.map((row) => [row.key, row]));
  const responses = groupBy(only(history, "response"), ({ key }) => key);
  const violations: string[] = [];
  const claimed: string[] = [];
  for (const { key, work } of only(history, "request")) {
    const say = (what: string) => violations.push(`request ${key} (${work}): ${what}`);
    const reference = references.get(work);
    if (reference === undefined) say("has no reference");
    const got = responses.get(key) ?? [];
    if (got.length === 0) say("never answered");
    for (const { digest } of got) if (digest !== reference?.digest) say("answered with a different body");
    const row = rows.get(key);
    if (row === undefined) say("unknown to the ledger");
    else if (row.state === "running") say("still running in the ledger");
    const ids = new Set([row?.requestId, row?.paidRequestId, ...got.map(({ chargedId }) => chargedId)]);
    let credits = 0;
    for (const id of ids) {
      if (id === undefined || id === null) continue;
      claimed.push(id);
      credits += holds.get(id)?.credits ?? 0;
    }
    if (credits !== reference?.credits) say(`charged ${credits} credits, not ${reference?.credits}`);
  }
  return { violations, claimed };
}

/**
 * Checks that each session got every final of an undisturbed session, once and in order, and was charged once
 * for its audio.
 */
function liveViolations(history: readonly HistoryEvent[], holds: ReadonlyMap<string, Hold>): Checked {
  const references = new Map(only(history, "reference finals").map(({ clip, finals }) => [clip, finals]));
  const bySession = groupBy(
    history.filter((event) => "session" in event),
    ({ session }) => session,
  );
  const violations: string[] = [];
  const claimed: string[] = [];
  for (const [session, events] of bySession) {
    const say = (what: string) => violations.push(`session ${session}: ${what}`);
    const clip = only(events, "live")[0]?.clip ?? "";
    const expected = references.get(clip);
    if (expected === undefined) say("has no reference");
    else for (const what of finalViolations(events, expected)) say(what);
    const ids = only(events, "live connection").map(({ id }) => id);
    claimed.push(...ids);
    for (const what of chargeViolations(events, ids, holds)) say(what);
  }
  return { violations, claimed };
}

function finalViolations(events: readonly HistoryEvent[], expected: readonly string[]): string[] {
  const found: string[] = [];
  const isDone = only(events, "live done").length > 0;
  if (!isDone && only(events, "live failed").length === 0) found.push("never ended");
  let next = 0;
  let stable = "";
  for (const event of events) {
    if (event.type === "live partial") {
      if (event.utterance !== next)
        found.push(`partial of utterance ${event.utterance} after final ${next - 1}`);
      if (!event.text.startsWith(stable)) found.push(`stable text of utterance ${event.utterance} changed`);
      stable = [...event.text].slice(0, event.stable).join("");
    }
    if (event.type === "live reconnecting") stable = "";
    if (event.type !== "live final") continue;
    stable = "";
    if (event.utterance !== next) found.push(`final ${event.utterance} instead of ${next}`);
    else if (event.text !== expected[next])
      found.push(`final ${next} says "${event.text}", not "${expected[next]}"`);
    next = Math.max(next, event.utterance) + (event.utterance >= next ? 1 : 0);
  }
  if (isDone && next < expected.length) found.push(`${expected.length - next} finals lost`);
  return found;
}

/**
 * Checks that each connection was charged for the audio that it accepted. A connection that ended normally
 * has reported that amount; a later connection accepts the audio since the last final again.
 */
function chargeViolations(
  events: readonly HistoryEvent[],
  ids: readonly string[],
  holds: ReadonlyMap<string, Hold>,
): string[] {
  const sum = ids.reduce((total, id) => total + (holds.get(id)?.credits ?? 0), 0);
  const [done] = only(events, "live done");
  const sentCredits = done?.sentCredits ?? only(events, "live failed")[0]?.sentCredits ?? 0;
  const found: string[] = [];
  for (const id of ids) {
    const credits = holds.get(id)?.credits ?? 0;
    if (credits > sentCredits)
      found.push(`connection ${id} charged ${credits} credits for audio worth ${sentCredits}`);
  }
  if (done === undefined) return found;
  const { credits, brokenConnections } = done;
  if (brokenConnections === 0 && sum !== credits) found.push(`charged ${sum} credits, reported ${credits}`);
  if (sum < credits) found.push(`charged ${sum} credits, less than the reported ${credits}`);
  if (ids.length === 1 && credits !== sentCredits)
    found.push(`reported ${credits} credits for audio worth ${sentCredits}`);
  return found;
}

function only<Type extends HistoryEvent["type"]>(
  history: readonly HistoryEvent[],
  type: Type,
): readonly EventOf<Type>[] {
  return history.filter((event): event is EventOf<Type> => event.type === type);
}
