import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decideSpeaking,
  MOST_WAITING,
  NEW_SPEAKING,
  type SpeakEffect,
  type SpeakMessage,
  type SpeakState,
} from "../../../actors/synthesis/speak-decision.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { countCodePoints } from "../../../core/domain/text/code-points.js";
import * as fc from "../../support/properties.js";

const PCM = Int16Array.of(1, 2, 3);
const LOST = new ServiceError("WORKER_LOST", "the worker is gone");
const EMOJI = new ServiceError("NOTHING_TO_SAY", "text must hold something that can be spoken in Kazakh");

function run(messages: readonly SpeakMessage[]): {
  readonly state: SpeakState;
  readonly effects: SpeakEffect[];
} {
  let state: SpeakState = NEW_SPEAKING;
  const effects: SpeakEffect[] = [];
  for (const message of messages) {
    const decision = decideSpeaking(state, message);
    state = decision.state;
    effects.push(...decision.effects);
  }
  return { state, effects };
}

/** Shortens effects to `begin 0 Сәлем. `, `settle 7`, `flushed 0`. */
function shown(effects: readonly SpeakEffect[]): string[] {
  return effects.map((effect) => {
    switch (effect.type) {
      case "begin": {
        const { id, text, through, continues } = effect.sentence;
        return `begin ${id} ${text.trim()} ${through}${continues ? " …" : ""}`;
      }
      case "sound":
        return effect.isLast ? "last sound" : "sound";
      case "delivered":
      case "settle":
        return `${effect.type} ${effect.characters}`;
      case "send": {
        const { message } = effect;
        if ("sequence" in message) return `${message.type} ${message.sequence}`;
        return message.type === "done" ? "done" : `${message.type} ${message.code}`;
      }
      case "close-socket":
        return `close ${effect.code}`;
      default:
        return effect.type;
    }
  });
}

const speak = (text: string): SpeakMessage => ({ type: "speak", text });
const sound = (id: number, isLast = false): SpeakMessage => ({ type: "sound", id, pcm: PCM, isLast });
const FLUSH: SpeakMessage = { type: "flush" };
const CLEAR: SpeakMessage = { type: "clear" };
const CLOSE: SpeakMessage = { type: "close" };

test("sentences are spoken one after another, and the turn is charged once", () => {
  const { effects } = run([
    speak("Бір. Ек"),
    speak("і. "),
    sound(0),
    sound(0, true),
    FLUSH,
    sound(1, true),
    speak("Үш."),
    FLUSH,
    sound(2, true),
  ]);
  assert.deepEqual(shown(effects), [
    "begin 0 Бір. 5 …",
    "sound",
    "delivered 5",
    "last sound",
    "begin 1 Екі. 10 …",
    "delivered 10",
    "last sound",
    "settle 10",
    "flushed 0",
    "begin 2 Үш. 3",
    "delivered 3",
    "last sound",
    "settle 3",
    "flushed 1",
  ]);
});

test("every flush is answered in order, even without text", () => {
  const { effects } = run([FLUSH, speak("Бір."), FLUSH, FLUSH, speak("  "), FLUSH, sound(0, true)]);
  assert.deepEqual(shown(effects), [
    "settle 0",
    "flushed 0",
    "begin 0 Бір. 4",
    "delivered 4",
    "last sound",
    "settle 4",
    "flushed 1",
    "settle 0",
    "flushed 2",
    "settle 0",
    "flushed 3",
  ]);
});

test("a clear drops text and audio, and charges for the sentence whose audio has started", () => {
  const { effects, state } = run([
    speak("Бір. Екі. Үш. "),
    sound(0, true),
    sound(1),
    FLUSH,
    CLEAR,
    sound(1, true),
    speak("Төрт."),
    FLUSH,
    sound(2, true),
  ]);
  assert.deepEqual(shown(effects).slice(4), [
    "sound",
    "cancel",
    "settle 10",
    "cleared 0",
    "begin 2 Төрт. 5",
    "delivered 5",
    "last sound",
    "settle 5",
    "flushed 1",
  ]);
  assert.equal(state.phase, "open");
});

test("a sentence that was synthesized but not sent costs nothing", () => {
  const { effects } = run([speak("Бір. Екі. "), sound(0, true), CLEAR]);
  assert.deepEqual(shown(effects).slice(-3), ["cancel", "settle 5", "cleared 0"]);
});

test("a close finishes what was flushed and drops the rest", () => {
  const flushed = run([speak("Бір."), FLUSH, speak("Екі. Үш. "), CLOSE, speak("Төрт. "), sound(0, true)]);
  assert.deepEqual(shown(flushed.effects).slice(1), [
    "delivered 4",
    "last sound",
    "settle 4",
    "flushed 0",
    "settle 0",
    "done",
    "close 1000",
    "release",
  ]);
  const open = run([speak("Бір. Екі. "), sound(0), CLOSE]);
  assert.deepEqual(shown(open.effects).slice(2), ["cancel", "settle 5", "done", "close 1000", "release"]);
  assert.deepEqual(shown(run([CLOSE]).effects), ["settle 0", "done", "close 1000", "release"]);
  assert.deepEqual(shown(run([{ type: "going-away" }]).effects), [
    "settle 0",
    "done",
    "close 1012",
    "release",
  ]);
});

test("a sentence lost to a service failure is not charged, but audio sent before it is", () => {
  const { effects } = run([
    speak("Бір. Екі. "),
    sound(0, true),
    sound(1),
    { type: "failed", id: 1, error: LOST },
  ]);
  assert.deepEqual(shown(effects).slice(5), [
    "cancel",
    "settle 5",
    "error worker_lost",
    "close 1011",
    "release",
  ]);
});

test("a sentence with nothing to speak is skipped, and its characters belong to the next", () => {
  const { effects } = run([
    speak("漢字. Бір. "),
    { type: "unspeakable", id: 0, error: EMOJI },
    FLUSH,
    sound(1, true),
  ]);
  const [begun, warned, next, ...rest] = shown(effects);
  assert.match(begun!, /^begin 0 .* 4 …$/);
  assert.equal(warned, "warning nothing_to_say");
  assert.match(next!, /^begin 1 Бір\. 9/);
  assert.deepEqual(rest, ["delivered 9", "last sound", "settle 9", "flushed 0"]);
});

test("too much waiting text, or ten invalid messages, end the session", () => {
  const long = "сөз ".repeat(MOST_WAITING / 4);
  assert.deepEqual(shown(run([speak(long), speak(long)]).effects).slice(1), [
    "cancel",
    "settle 0",
    "error too_fast",
    "close 4400",
    "release",
  ]);
  const bad = Array.from(
    { length: 10 },
    (_, nth) => ({ type: "bad-message", detail: "x", atMs: nth }) as const,
  );
  const all = shown(run(bad).effects);
  assert.deepEqual(
    all.slice(0, 9),
    Array.from({ length: 9 }, () => "warning bad_message"),
  );
  assert.deepEqual(all.slice(9), ["settle 0", "error too_many_messages", "close 4400", "release"]);
  const slow = bad.map((message) => ({ ...message, atMs: message.atMs * 60_000 }));
  assert.equal(run(slow).state.phase, "open");
});

test("an idle session closes, unless it is speaking", () => {
  assert.deepEqual(shown(run([speak("Бір. "), { type: "idle" }]).effects), ["begin 0 Бір. 5 …"]);
  assert.deepEqual(shown(run([{ type: "idle" }]).effects).slice(1), ["error idle", "close 4408", "release"]);
});

/** Clients and the synthesizer may do anything, in any order. */
const anyMessages = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom("Бір. ", "Екі", " үш? ", "Т", "өрт! Бес", ". ", "😀. ").map(speak),
    },
    { weight: 2, arbitrary: fc.constant(FLUSH) },
    { weight: 1, arbitrary: fc.constantFrom(CLEAR, CLEAR, CLEAR, CLOSE) },
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constant("sound" as const),
        id: fc.nat({ max: 12 }),
        pcm: fc.constantFrom(PCM, new Int16Array(0)),
        isLast: fc.boolean(),
      }),
    },
  ),
  { maxLength: 60 },
);

test("whatever happens, a turn is settled once, for no more than its text, and audio is in order", () => {
  fc.assert(
    fc.property(anyMessages, (messages) => {
      const all = [...messages, { type: "disconnected" } as const];
      const { effects } = run(all);
      const given = all.reduce((sum, one) => sum + (one.type === "speak" ? countCodePoints(one.text) : 0), 0);
      const charged = effects.reduce((sum, one) => sum + (one.type === "settle" ? one.characters : 0), 0);
      assert.ok(charged <= given, `${charged} of ${given}`);
      let covered = 0;
      let delivered = 0;
      let lastId = -1;
      let sequence = 0;
      for (const effect of effects) {
        if (effect.type === "begin") {
          assert.equal(effect.sentence.id, ++lastId);
          assert.ok(effect.sentence.through > covered);
          covered = effect.sentence.through;
        } else if (effect.type === "delivered") {
          assert.ok(effect.characters <= covered);
          delivered = effect.characters;
        } else if (effect.type === "settle") {
          assert.ok(effect.characters <= covered, "only held credits are charged");
          assert.ok(effect.characters >= delivered, "nothing is given away");
          covered = 0;
          delivered = 0;
        } else if (effect.type === "send" && "sequence" in effect.message)
          assert.equal(effect.message.sequence, sequence++);
      }
      const asked = all.filter(({ type }) => type === "flush").length;
      const cleared = all.filter(({ type }) => type === "clear").length;
      assert.ok(sequence <= asked + cleared);
      assert.equal(effects.filter(({ type }) => type === "release").length, 1);
      assert.deepEqual(effects.at(-1), { type: "release" });
    }),
    { numRuns: 1_000 },
  );
});

test("the first clause of a turn is spoken before its sentence is complete, if the session requests it", () => {
  const clause = "Бүгін таңертең ауа райы өте жақсы болады, ";
  const rest = "ал кешке жаңбыр жауады, қолшатыр алыңыз деп айтты. Иә";
  for (const startsEarly of [false, true]) {
    let state: SpeakState = { ...NEW_SPEAKING, startsEarly };
    const begun: (readonly [string, boolean, boolean])[] = [];
    for (const message of [...[...(clause + rest)].map(speak), FLUSH, sound(0, true), sound(1, true)]) {
      const decision = decideSpeaking(state, message);
      state = decision.state;
      for (const effect of decision.effects) {
        if (effect.type !== "begin") continue;
        const { text, isClause, continues } = effect.sentence;
        begun.push([text, isClause, continues]);
      }
    }
    const whole = [`${clause}${rest.slice(0, -2)}`, false, true];
    const parts = [
      [clause, true, true],
      [rest.slice(0, -2), false, true],
    ];
    assert.deepEqual(begun, [...(startsEarly ? parts : [whole]), ["Иә", false, false]]);
  }
});

test("turns are numbered by the flushes and clears that a client sent before their text", () => {
  fc.assert(
    fc.property(anyMessages, (messages) => {
      let state: SpeakState = NEW_SPEAKING;
      /** The turn of every character that was sent, as the client counts, in order. */
      let sent = 0;
      let over = -1;
      for (const message of messages) {
        if (state.phase === "stopped") return;
        const isCounted =
          state.ending === null
            ? message.type === "flush" || message.type === "clear"
            : message.type === "clear";
        const { state: next, effects } = decideSpeaking(state, message);
        if (isCounted) sent++;
        for (const effect of effects) {
          if (effect.type === "begin") {
            assert.ok(effect.sentence.turn > over && effect.sentence.turn <= sent);
            assert.equal(
              effect.sentence.through - effect.sentence.from,
              countCodePoints(effect.sentence.text),
            );
          } else if (effect.type === "send" && effect.message.type === "flushed")
            assert.equal(effect.message.turn, ++over);
          else if (effect.type === "send" && effect.message.type === "cleared") {
            assert.equal(effect.message.turn, sent - 1);
            over = effect.message.turn;
          }
        }
        state = next;
      }
    }),
    { numRuns: 1_000 },
  );
});
