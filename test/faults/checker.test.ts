import assert from "node:assert/strict";
import { test } from "node:test";
import { violationsOf } from "./checker.js";
import type { HistoryEvent, NewEvent } from "./history.js";

const HOLD = { state: "settled", charges: 1 };

/** A run in which every promise was kept. */
const SOUND: readonly NewEvent[] = [
  { type: "reference response", work: "speech", digest: "aa", credits: 14, chargedId: "req_0" },
  { type: "reference finals", clip: "dialogue", finals: ["бір", "екі"], ids: ["ses_0"] },
  { type: "request", key: "k1", work: "speech" },
  { type: "live", session: "live-0", clip: "dialogue" },
  { type: "live connection", session: "live-0", id: "ses_1" },
  { type: "fault", round: 0, kind: "gateway killed", target: 1, phase: "applied" },
  { type: "attempt", key: "k1", status: null, detail: "fetch failed" },
  { type: "live partial", session: "live-0", utterance: 0, text: "бі", stable: 1 },
  { type: "live final", session: "live-0", utterance: 0, text: "бір" },
  { type: "live reconnecting", session: "live-0", detail: "the connection was lost" },
  { type: "fault", round: 0, kind: "gateway killed", target: 1, phase: "sound" },
  { type: "live connection", session: "live-0", id: "ses_2" },
  { type: "live partial", session: "live-0", utterance: 1, text: "е", stable: 0 },
  { type: "live final", session: "live-0", utterance: 1, text: "екі" },
  { type: "response", key: "k1", chargedId: "req_2", digest: "aa", isReplay: true },
  { type: "live done", session: "live-0", credits: 30, brokenConnections: 1, sentCredits: 60 },
  {
    type: "ledger",
    holds: [
      { id: "req_0", kind: "synthesis", credits: 14, ...HOLD },
      { id: "ses_0", kind: "live", credits: 60, ...HOLD },
      { id: "req_1", kind: "synthesis", credits: 5, ...HOLD },
      { id: "req_2", kind: "synthesis", credits: 9, ...HOLD },
      { id: "req_3", kind: "synthesis", credits: 0, state: "voided", charges: 0 },
      { id: "ses_1", kind: "live", credits: 35, ...HOLD },
      { id: "ses_2", kind: "live", credits: 30, ...HOLD },
    ],
    keys: [{ key: "k1", state: "answered", requestId: "req_2", paidRequestId: "req_1" }],
    brokenRules: [],
  },
];

/** The violations that the checker reports for the sound run after a change of its events. */
function after(change: (events: NewEvent[]) => readonly NewEvent[]): readonly string[] {
  const events = change(structuredClone(SOUND) as NewEvent[]);
  return violationsOf(events.map((event, atMs) => ({ atMs, ...event }) as HistoryEvent));
}

/** Changes members of the events of a type, or only of those that `when` selects. */
function changed<Type extends NewEvent["type"]>(
  type: Type,
  members: Partial<Extract<NewEvent, { type: Type }>>,
  when: Partial<Extract<NewEvent, { type: Type }>> = {},
): readonly string[] {
  return after((events) =>
    events.map((event) =>
      event.type === type && Object.entries(when).every(([name, value]) => event[name as never] === value)
        ? ({ ...event, ...members } as NewEvent)
        : event,
    ),
  );
}

type Ledger = Extract<NewEvent, { type: "ledger" }>;

function withLedger(change: (ledger: Ledger) => Ledger): readonly string[] {
  return after((events) => events.map((event) => (event.type === "ledger" ? change(event) : event)));
}

function withHold(id: string, members: Partial<Ledger["holds"][number]>): readonly string[] {
  return withLedger((ledger) => ({
    ...ledger,
    holds: ledger.holds.map((hold) => (hold.id === id ? { ...hold, ...members } : hold)),
  }));
}

const without = (type: NewEvent["type"]) => after((events) => events.filter((event) => event.type !== type));

test("a run in which every promise was kept has no violation", () => {
  assert.deepEqual(
    after((events) => events),
    [],
  );
});

const PLANTED: Readonly<Record<string, readonly [found: readonly string[], expected: RegExp]>> = {
  "a run without a ledger": [without("ledger"), /^history: has no ledger$/],
  "a fleet that did not recover": [
    after((events) => [...events, { type: "unsound", detail: "engine 1 is not ready" }]),
    /^fleet: engine 1 is not ready$/,
  ],
  "a request that is never answered": [without("response"), /^request k1 \(speech\): never answered$/],
  "a response with another body": [
    changed("response", { digest: "bb" }),
    /^request k1 .*: answered with a different/,
  ],
  "a response that changes when it is repeated": [
    after((events) => [
      ...events,
      { type: "response", key: "k1", chargedId: "req_2", digest: "bb", isReplay: true },
    ]),
    /^request k1 .*: answered with a different/,
  ],
  "a request charged twice": [
    withHold("req_1", { credits: 14 }),
    /^request k1 .*: charged 23 credits, not 14$/,
  ],
  "a request charged too little": [
    withHold("req_2", { credits: 0 }),
    /^request k1 .*: charged 5 credits, not 14$/,
  ],
  "a request without a trace in the ledger": [
    withLedger((ledger) => ({ ...ledger, keys: [] })),
    /^request k1 .*: unknown/,
  ],
  "a request that still runs": [
    withLedger((ledger) => ({ ...ledger, keys: ledger.keys.map((key) => ({ ...key, state: "running" })) })),
    /^request k1 .*: still running/,
  ],
  "a hold charged twice": [withHold("ses_2", { charges: 2 }), /^hold ses_2: charged 2 times$/],
  "a hold that stays open": [withHold("req_3", { state: "open" }), /^hold req_3: still open$/],
  "a charge that no client got": [
    withHold("req_3", { credits: 3 }),
    /^hold req_3: 3 credits .* no client got$/,
  ],
  "a broken rule of the ledger": [
    withLedger((ledger) => ({ ...ledger, brokenRules: [{ rule: "sum of all accounts" }] })),
    /^ledger: broken rule .*sum of all accounts/,
  ],
  "a session that never ends": [without("live done"), /^session live-0: never ended$/],
  "a lost final": [
    after((events) => events.filter((event) => event.type !== "live final" || event.utterance === 0)),
    /^session live-0: 1 finals lost$/,
  ],
  "a final with other words": [
    changed("live final", { text: "үш" }, { utterance: 1 }),
    /^session live-0: final 1 says "үш", not "екі"$/,
  ],
  "a final that comes twice": [
    after((events) =>
      events.flatMap((event) =>
        event.type === "live final" && event.utterance === 0 ? [event, event] : [event],
      ),
    ),
    /^session live-0: final 0 instead of 1$/,
  ],
  "a final that skips one": [
    after((events) => events.filter((event) => event.type !== "live final" || event.utterance === 1)),
    /^session live-0: final 1 instead of 0$/,
  ],
  "a partial after its final": [
    changed("live partial", { utterance: 0 }, { utterance: 1 }),
    /^session live-0: partial of utterance 0 after final 0$/,
  ],
  "stable text that changes": [
    after((events) =>
      events.flatMap((event) =>
        event.type === "live partial" && event.utterance === 0 ? [event, { ...event, text: "ек" }] : [event],
      ),
    ),
    /^session live-0: stable text of utterance 0 changed$/,
  ],
  "a connection charged for more than was sent": [
    withHold("ses_1", { credits: 61 }),
    /^session live-0: connection ses_1 charged 61 credits for audio worth 60$/,
  ],
  "a session charged less than it reported": [
    after((events) =>
      events.map((event) =>
        event.type === "ledger"
          ? {
              ...event,
              holds: event.holds.map((hold) => (hold.kind === "live" ? { ...hold, credits: 10 } : hold)),
            }
          : event,
      ),
    ),
    /^session live-0: charged 20 credits, less than the reported 30$/,
  ],
  "an unbroken session charged other than it reported": [
    changed("live done", { brokenConnections: 0 }),
    /^session live-0: charged 65 credits, reported 30$/,
  ],
  "a single connection that reports other than it was sent": [
    after((events) =>
      events
        .filter((event) => event.type !== "live connection" || event.id !== "ses_1")
        .map((event) => {
          if (event.type === "live done") return { ...event, brokenConnections: 0 };
          if (event.type !== "ledger") return event;
          return { ...event, holds: event.holds.filter(({ id }) => id !== "ses_1") };
        }),
    ),
    /^session live-0: reported 30 credits for audio worth 60$/,
  ],
};

for (const [name, [found, expected]] of Object.entries(PLANTED)) {
  test(`finds ${name}`, () => {
    assert.ok(
      found.some((violation) => expected.test(violation)),
      found.join("\n"),
    );
  });
}

test("a session that failed keeps its finals and its charge within what was sent", () => {
  const failed = (events: NewEvent[]): NewEvent[] =>
    events
      .filter((event) => event.type !== "live final" || event.utterance === 0)
      .filter((event) => event.type !== "live partial" || event.utterance === 0)
      .map((event) =>
        event.type === "live done"
          ? { type: "live failed", session: "live-0", sentCredits: 60, detail: "metering is not available" }
          : event,
      );
  assert.deepEqual(after(failed), []);
});
