import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import type { LiveConversation, LiveSink, LiveWishes } from "../../core/ports/conversations.js";
import { TURNS_SERVER_MESSAGE } from "../../core/protocol/turns-messages.js";
import { type TurnEvent, Turns } from "../../src/live/dialects/turns.js";
import { GOOD_KEY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { eventually } from "../support/eventually.js";
import * as fc from "../support/properties.js";

const EAGER = { turnMs: 490, isEager: true, sureMs: 700, utteranceMs: 210 };
const PLAIN = { turnMs: 490, isEager: false, sureMs: 700, utteranceMs: 490 };

const partial = (utterance: number, text: string, start: number, end: number) =>
  ({ type: "partial", utterance, text, start, end, stable: 0 }) as const;
const final = (utterance: number, text: string, start: number, end: number) => {
  const words = text.split(" ").map((word) => ({ word, start, end, confidence: 0.9 }));
  return { type: "final", utterance, text, start, end, words } as const;
};
const shown = (events: readonly TurnEvent[]) =>
  events.map(({ event, turn_index, transcript, trigger }) =>
    [event, turn_index, transcript, trigger].filter((one) => one !== undefined).join(" "),
  );

test("a pause is reported eagerly; speech resumes the turn, silence ends it with the same transcript", () => {
  const turns = new Turns(EAGER);
  const events = [
    ...turns.partial(partial(0, "сәлем", 0.2, 0.5), 0.6),
    ...turns.partial(partial(0, "сәлем мен", 0.2, 0.9), 1),
    ...turns.final(final(0, "сәлем мен", 0.2, 1), 1.25),
    ...turns.heard(1.3),
    ...turns.partial(partial(1, "билет", 1.4, 1.8), 1.9),
    ...turns.final(final(1, "билет алғым келеді", 1.4, 2.5), 2.75),
    ...turns.heard(2.9),
    ...turns.heard(3),
    ...turns.heard(4),
  ];
  assert.deepEqual(shown(events), [
    "StartOfTurn 0 сәлем",
    "Update 0 сәлем мен",
    "EagerEndOfTurn 0 сәлем мен",
    "TurnResumed 0 сәлем мен билет",
    "EagerEndOfTurn 0 сәлем мен билет алғым келеді",
    "EndOfTurn 0 сәлем мен билет алғым келеді model",
  ]);
  const [start, , eager, , , end] = events;
  assert.deepEqual([start!.audio_window_start, start!.words], [0.2, [{ word: "сәлем", confidence: 0 }]]);
  assert.deepEqual([eager!.end_of_turn_confidence, end!.end_of_turn_confidence], [0.3571, 1]);
  assert.deepEqual(eager!.languages, ["kk"]);
  assert.deepEqual(shown(turns.partial(partial(2, "иә", 5, 5.2), 5.3)), ["StartOfTurn 1 иә"]);
});

test("without eager ends the session's endpointer ends the turn", () => {
  const turns = new Turns(PLAIN);
  assert.deepEqual(shown(turns.final(final(0, "жақсы", 0.1, 0.6), 1.1)), [
    "StartOfTurn 0 жақсы",
    "EndOfTurn 0 жақсы model",
  ]);
  assert.deepEqual(turns.heard(9), []);
});

test("a turn that only time or the client ends joins its utterances", () => {
  const rules = { turnMs: 5_000, isEager: false, sureMs: 700, utteranceMs: 2_000 };
  const turns = new Turns(rules);
  assert.deepEqual(turns.force(0), []);
  const heard = [
    ...turns.partial(partial(0, "бір", 0.1, 0.5), 0.6),
    ...turns.final(final(0, "бір", 0.1, 0.5), 2.5),
    ...turns.final(final(1, "екі", 3, 3.5), 5.5),
    ...turns.heard(8.6),
  ];
  assert.deepEqual(shown(heard), [
    ...["StartOfTurn 0 бір", "Update 0 бір", "Update 0 бір екі", "EndOfTurn 0 бір екі timeout"],
  ]);
  turns.partial(partial(2, "үш", 9, 9.4), 9.5);
  assert.deepEqual(turns.force(9.6), []);
  const finalized = { ...final(2, "үш", 9, 9.4), from_finalize: true } as const;
  assert.deepEqual(shown(turns.final(finalized, 9.7)), ["EndOfTurn 1 үш manual"]);
  assert.deepEqual(turns.force(9.8), []);
  turns.final(final(3, "төрт", 10, 10.4), 12.4);
  assert.deepEqual(shown(turns.force(12.5)), ["EndOfTurn 2 төрт manual"]);
  turns.partial(partial(4, "бес", 13, 13.2), 13.3);
  assert.deepEqual(shown(turns.finish(13.4)), ["EndOfTurn 3 бес model"]);
  assert.deepEqual(turns.finish(13.5), []);
});

test("a turn that is forced ends after all of its speech, even if a pause ended the utterance just before", () => {
  const rules = { turnMs: 5_000, isEager: false, sureMs: 700, utteranceMs: 2_000 };
  const turns = new Turns(rules);
  turns.partial(partial(0, "бір", 0.1, 0.5), 0.6);
  assert.deepEqual(turns.force(3.4), []);
  const heard = [
    ...turns.final(final(0, "бір", 0.1, 0.5), 3.4),
    ...turns.final({ ...final(1, "екі", 2.9, 3.2), from_finalize: true }, 3.4),
    // The confirmation of the session.
    ...turns.force(3.4),
  ];
  assert.deepEqual(shown(heard), ["Update 0 бір", "EndOfTurn 0 бір екі manual"]);
  turns.partial(partial(2, "үш", 4, 4.4), 4.5);
  assert.deepEqual(turns.force(6.6), []);
  const late = [...turns.final(final(2, "үш", 4, 4.4), 6.6), ...turns.force(6.6)];
  assert.deepEqual(shown(late), ["Update 1 үш", "EndOfTurn 1 үш manual"]);
});

/** Reports of a session, in any order. */
const anyReports = fc.array(
  fc.record({
    kind: fc.constantFrom("partial", "final", "heard", "force"),
    text: fc.constantFrom("", "бір", "екі үш"),
    from_finalize: fc.constantFrom(true, undefined),
    passed: fc.integer({ min: 0, max: 12 }),
  }),
  { maxLength: 40 },
);

test("whatever a session reports, the events obey the state machine of turns", () => {
  const follows: Readonly<Record<string, readonly string[]>> = {
    "": ["StartOfTurn"],
    StartOfTurn: ["Update", "EagerEndOfTurn", "EndOfTurn"],
    Update: ["Update", "EagerEndOfTurn", "EndOfTurn"],
    EagerEndOfTurn: ["TurnResumed", "EndOfTurn"],
    TurnResumed: ["Update", "EagerEndOfTurn", "EndOfTurn"],
    EndOfTurn: ["StartOfTurn"],
  };
  fc.assert(
    fc.property(anyReports, fc.boolean(), (reports, isEager) => {
      const turns = new Turns(isEager ? EAGER : PLAIN);
      let now = 0;
      const events: TurnEvent[] = [];
      for (const { kind, text, passed, from_finalize } of reports) {
        const start = now;
        now += passed / 10;
        const words = text === "" ? [] : final(0, text, start, now).words;
        if (kind === "partial") events.push(...turns.partial(partial(0, text, start, now), now));
        else if (kind === "final")
          events.push(...turns.final({ ...final(0, text, start, now), words, from_finalize }, now));
        else if (kind === "heard") events.push(...turns.heard(now));
        else events.push(...turns.force(now));
      }
      events.push(...turns.finish(now));
      let last = "";
      let eager = "";
      let index = 0;
      for (const { event, turn_index, transcript } of events) {
        assert.ok(follows[last]!.includes(event), `${event} after ${last}`);
        assert.equal(turn_index, index);
        if (last === "EagerEndOfTurn" && event === "EndOfTurn") assert.equal(transcript, eager);
        if (event === "EagerEndOfTurn") assert.notEqual(transcript, "");
        if (event === "EagerEndOfTurn") eager = transcript;
        if (event === "EndOfTurn") index++;
        last = event;
      }
      assert.ok(last === "" || last === "EndOfTurn");
    }),
    { numRuns: 1_000 },
  );
});

for (const front of FRONTS) {
  describe(`/v2/listen on ${front}`, { concurrency: 1 }, () => {
    let running: RunningTransport;
    let session: { readonly options: LiveWishes; readonly sink: LiveSink; readonly heard: string[] };

    before(async () => {
      running = await startTransport(front);
      running.conversations.live = (_caller, options, sink) => {
        const heard: string[] = [];
        session = { options, sink, heard };
        return recording(heard, sink);
      };
    });
    after(() => running.stop());

    test("a session's reports become numbered messages of the schema", async () => {
      const socket = new WebSocket(
        `ws://127.0.0.1:${running.port}/v2/listen?model=flux-general-multi&eager_eot_threshold=0.4&tag=x`,
        { headers: { authorization: `Token ${GOOD_KEY}` } },
      );
      const messages: Record<string, unknown>[] = [];
      socket.on("message", (data) => messages.push(JSON.parse(String(data))));
      const closed = once(socket, "close");
      await once(socket, "open");
      assert.deepEqual(session.options, {
        ...{ model: "svc-kk-ru-v2", endOfUtteranceMs: 280, endpointing: "adaptive" },
        ...{ partials: true, words: true, hotWords: [] },
      });
      const ready = {
        session_id: "s",
        request_id: "r",
        model: "svc-kk-ru-v2",
        sample_rate: 16_000,
        eou_ms: 280,
      };
      session.sink.send({ type: "ready", ...ready });
      socket.send(Buffer.alloc(32_000));
      await eventually("heard", () => session.heard.includes("audio 32000"));
      session.sink.send(partial(0, "сәлем", 0.2, 0.6));
      session.sink.send(final(0, "сәлем", 0.2, 0.7));
      socket.send(Buffer.alloc(16_000));
      await eventually("ended", () => messages.some(({ event }) => event === "EndOfTurn"));
      for (const text of [
        '{"type":"Configure","thresholds":{}}',
        '{"type":"ForceEndTurn"}',
        '{"type":"KeepAlive"}',
        "{",
      ])
        socket.send(text);
      socket.send('{"type":"CloseStream"}');
      assert.equal((await closed)[0], 1000);
      assert.deepEqual(
        messages.map(({ type, event, sequence_id }) => [event ?? type, sequence_id]),
        [
          ["Connected", 0],
          ["StartOfTurn", 1],
          ["EagerEndOfTurn", 2],
          ["EndOfTurn", 3],
          ["ConfigureFailure", 4],
        ],
      );
      for (const message of messages) assert.deepEqual(TURNS_SERVER_MESSAGE.parse(message), message);
      assert.deepEqual(session.heard.slice(2), [
        "finalize",
        "keepalive",
        "bad a text message must be JSON",
        "close",
      ]);
    });

    test("readable text reaches a turn's words, and a later final ends the sentence before it", async () => {
      const said = ["бағасы", "екі", "мың", "теңге"].map((word, nth) => {
        return { word, start: nth, end: nth + 0.5, confidence: 0.9 - nth / 10 };
      });
      const display_words = [
        { word: "Бағасы", start: 0, end: 0.5, spoken: [0, 1] as const },
        { word: "2000", start: 1, end: 2.5, spoken: [1, 3] as const },
        { word: "теңге", start: 3, end: 3.5, spoken: [3, 4] as const },
      ];
      const text = said.map(({ word }) => word).join(" ");
      const first = { type: "final", utterance: 0, text, start: 0, end: 3.5, words: said } as const;
      const next = { ...final(1, "рахмет", 4, 4.5), display_text: "Рахмет.", display_before: ". " };
      const thanks = [{ word: "Рахмет.", start: 4, end: 4.5, spoken: [0, 1] as const }];
      for (const [query, transcripts, reading] of [
        [
          "smart_format=true",
          ["Бағасы 2000 теңге", "Бағасы 2000 теңге. Рахмет."],
          { display: true, numerals: "auto", redact: [] },
        ],
        [
          "numerals=true",
          ["бағасы 2000 теңге", "бағасы 2000 теңге рахмет"],
          { display: true, numerals: "auto", redact: [] },
        ],
        [
          "punctuate=true&redact=phone",
          ["Бағасы 2000 теңге", "Бағасы 2000 теңге. Рахмет."],
          { display: true, numerals: "none", redact: ["phone"] },
        ],
      ] as const) {
        const url = `ws://127.0.0.1:${running.port}/v2/listen?eager_eot_threshold=0.4&${query}`;
        const socket = new WebSocket(url, { headers: { authorization: `Token ${GOOD_KEY}` } });
        const events: { readonly event?: string; readonly transcript?: string; readonly words?: object[] }[] =
          [];
        socket.on("message", (data) => events.push(JSON.parse(String(data))));
        await once(socket, "open");
        assert.deepEqual(session.options.reading, reading);
        session.sink.send({ ...first, display_text: "Бағасы 2000 теңге", display_before: "", display_words });
        session.sink.send({ ...next, display_words: thanks });
        await eventually("both", () => events.filter(({ event }) => event === "EagerEndOfTurn").length === 2);
        const eager = events.filter(({ event }) => event === "EagerEndOfTurn");
        assert.deepEqual(
          eager.map(({ transcript }) => transcript),
          transcripts,
        );
        const year = { word: "2000", start: 1, end: 2.5, confidence: 0.7 };
        assert.deepEqual(eager[0]!.words![1], year);
        socket.close();
      }
    });

    test("invalid options are rejected", async () => {
      for (const [query, rule] of [
        ["eot_threshold=0.2", /^eot_threshold must be 0.5 to 1/],
        ["eager_eot_threshold=0.95", /^eager_eot_threshold must be 0.3 to 0.9/],
        ["eager_eot_threshold=0.9&eot_threshold=0.6", /^eager_eot_threshold must be at most eot_threshold/],
        ["eot_timeout_ms=100", /^eot_timeout_ms must be an integer from 500 to 60000/],
        ["encoding=flac", /^encoding must be one of linear16/],
        ["model=nova-3", /^model must be one of svc-kk-ru-v2/],
        ["redact=numbers", /^redact must be a list of phone, iin, card, email, received "numbers"/],
        ["numerals=some", /^numerals must be true, false, 1 or 0, received "some"/],
      ] as const) {
        const socket = new WebSocket(`ws://127.0.0.1:${running.port}/v2/listen?${query}`, [
          "token",
          GOOD_KEY,
        ]);
        const [data] = (await once(socket, "message")) as [Buffer];
        const error = JSON.parse(String(data)) as Record<string, unknown>;
        assert.equal(error["type"], "Error");
        assert.match(String(error["description"]), rule);
        assert.equal((await once(socket, "close"))[0], 4400);
      }
    });
  });
}

/** A session that records its calls. */
function recording(heard: string[], sink: LiveSink): LiveConversation {
  let bytesSeen = 0;
  return {
    audio(bytes) {
      bytesSeen += bytes.length;
      heard.push(`audio ${bytesSeen}`);
    },
    finalize: () => void heard.push("finalize"),
    close() {
      heard.push("close");
      sink.send({ type: "done", audio_seconds: bytesSeen / 32_000, credits_charged: 1 });
      sink.close(1000, "done");
    },
    keepalive: () => void heard.push("keepalive"),
    badMessage: (detail) => void heard.push(`bad ${detail}`),
    disconnected() {},
    goingAway() {},
    unauthorized() {},
  };
}
