import assert from "node:assert/strict";
import { test } from "node:test";
import { SpeakSession } from "../../../actors/synthesis/speak-session.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { systemClock } from "../../../core/ports/clock.js";
import type { SpeakMessageOut, SpeakSink } from "../../../core/ports/conversations.js";
import { SPEAKING } from "../../support/catalog.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { FreeMeter } from "../../support/free-meter.js";
import { synthesisCredits } from "../../support/prices.js";
import { SILENT } from "../../support/silent-log.js";
import { ToneSynthesizer, toneOf } from "../../support/tone-synthesizer.js";

/** The pause between sentences: 250 ms at 24 kHz. */
const PAUSE_SAMPLES = 6_000;

function openSession() {
  const synthesizer = new ToneSynthesizer();
  const meter = new FreeMeter();
  /** Messages by name; consecutive samples count as one `sound`. */
  const sent: string[] = [];
  const closed: number[] = [];
  const counted: string[] = [];
  let samples: number[] = [];
  const gate = { ready: Promise.resolve() };
  const sink: SpeakSink = {
    send: (message: SpeakMessageOut) =>
      void sent.push(
        "sequence" in message
          ? `${message.type} ${message.sequence}`
          : `${message.type} ${"code" in message ? message.code : ""}`.trim(),
      ),
    sound(pcm) {
      if (sent.at(-1) !== "sound") sent.push("sound");
      samples = [...samples, ...pcm];
    },
    ready: () => gate.ready,
    close: (code) => void closed.push(code),
  };
  const session = new SpeakSession({
    model: SPEAKING,
    wishes: {
      ...{ model: null, voice: null, speed: 1, nfe: 16, normalize: true },
      ...{ seed: null, pronunciations: undefined, room_tone: false },
    },
    synthesis: { synthesizer, clock: systemClock },
    meterOf: (turn) => {
      meter.calls.push(`turn ${turn}`);
      return meter.openSpeech();
    },
    priceOf: synthesisCredits,
    sink,
    log: SILENT,
    observer: {
      opened: () => void counted.push("opened"),
      firstAudio: () => void counted.push("first audio"),
      interrupted: () => void counted.push("interrupted"),
      failed: (code) => void counted.push(code),
      ended: () => void counted.push("ended"),
    },
  });
  return { session, synthesizer, meter, sent, closed, counted, gate, heard: () => samples };
}

test("text that arrives in pieces is spoken sentence by sentence, with pauses, and charged once", async () => {
  const { session, synthesizer, meter, sent, heard } = openSession();
  for (const piece of ["Сә", "лем. Қал", "айсыз? Жақ", "сы"]) session.speak(piece);
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 0"));
  assert.deepEqual(synthesizer.begun, ["сәлем.", "қалайсыз?", "жақсы."]);
  assert.deepEqual(sent, ["sound", "flushed 0"]);
  const pause = new Array<number>(PAUSE_SAMPLES).fill(0);
  assert.deepEqual(heard(), [
    ...toneOf("сәлем."),
    ...pause,
    ...toneOf("қалайсыз?"),
    ...pause,
    ...toneOf("жақсы."),
  ]);
  assert.deepEqual(meter.calls, [
    ...["turn 0", "cover 7", "delivered 7", "cover 17", "delivered 17", "cover 22", "delivered 22"],
    "settle 22",
  ]);
});

test("the first sentence is spoken before the rest of the text has arrived", async () => {
  const { session, sent } = openSession();
  session.speak("Сәлем. ");
  await eventually("sound", () => sent.includes("sound"));
  session.disconnected();
});

test("pronunciations may double a turn's text and add 200 characters; beyond that a sentence is skipped", async () => {
  const { session, synthesizer, sent, meter } = openSession();
  session.pronounce([{ word: "аа", spoken: "б".repeat(60) }]);
  // Each sentence is 58 characters longer; those of a turn may add 200 and as many as it has.
  session.speak("аа. ".repeat(4));
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 0"));
  assert.deepEqual(sent, ["sound", "warning invalid_request", "flushed 0"]);
  session.speak("аа. ".repeat(3));
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 1"));
  assert.deepEqual(sent.slice(3), ["sound", "flushed 1"]);
  assert.deepEqual([synthesizer.begun.length, new Set(synthesizer.begun).size], [6, 1]);
  assert.equal(meter.calls.at(-1), "settle 12");
});

test("an error of the client ends the session", () => {
  const { session, sent, closed } = openSession();
  session.refuse(new ServiceError("INVALID_REQUEST", "options must be valid"));
  assert.deepEqual([sent, closed], [["error invalid_request"], [4400]]);
});

test("a clear in mid-sentence ends its synthesis, and no more of its audio follows", async () => {
  const { session, synthesizer, meter, sent, counted, heard } = openSession();
  session.speak("Бұл жерде ждет. Келесі сөйлем. Тағы бір сөйлем. ");
  await eventually("sound", () => sent.includes("sound"));
  const before = heard().length;
  session.clear();
  session.speak("Иә.");
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 1"));
  assert.deepEqual(sent, ["sound", "cleared 0", "sound", "flushed 1"]);
  assert.deepEqual(heard().slice(before), [...toneOf("иә.")]);
  assert.deepEqual(synthesizer.aborted, ["бұл жерде ждет."]);
  assert.deepEqual(synthesizer.begun, ["бұл жерде ждет.", "иә."]);
  assert.deepEqual(meter.calls, [
    ...["turn 0", "cover 16", "settle 16"],
    ...["turn 1", "cover 3", "delivered 3", "settle 3"],
  ]);
  assert.deepEqual(counted, ["opened", "first audio", "interrupted", "first audio"]);
});

test("a sentence cleared before its audio could be sent costs nothing", async () => {
  const { session, meter, sent, gate, synthesizer } = openSession();
  const slow = deferred<void>();
  gate.ready = slow.promise;
  session.speak("Бұл естілмейді. ");
  await eventually("synthesized", () => synthesizer.begun.length === 1);
  session.clear();
  slow.resolve();
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 1"));
  assert.deepEqual(sent, ["cleared 0", "flushed 1"]);
  assert.deepEqual(meter.calls, ["turn 0", "cover 16", "settle 0"]);
});

test("a client that leaves pays for the audio sent, and its synthesis ends", async () => {
  const { session, meter, sent, synthesizer, counted } = openSession();
  session.speak("Бұл жерде ждет. ");
  await eventually("sound", () => sent.includes("sound"));
  session.disconnected();
  session.disconnected();
  await eventually("aborted", () => synthesizer.aborted.length === 1);
  assert.deepEqual(meter.calls, ["turn 0", "cover 16", "settle 16"]);
  assert.deepEqual(counted, ["opened", "first audio", "ended"]);
});

test("a lost worker ends the session with an error, and the sentence is not charged", async () => {
  const { session, meter, sent, closed, counted } = openSession();
  session.speak("Жақсы. Мынау сбой. ");
  await eventually("closed", () => closed.length === 1);
  assert.deepEqual(closed, [1011]);
  assert.equal(sent.at(-1), "error worker_lost");
  assert.equal(meter.calls.at(-1), "settle 7");
  assert.deepEqual(counted, ["opened", "first audio", "worker_lost", "ended"]);
});

test("without credits the session ends before any audio", async () => {
  const { session, meter, sent, closed, synthesizer } = openSession();
  meter.refusal = new ServiceError("OUT_OF_CREDITS", "out of credits: needs 3 credits, 0 left");
  session.speak("Жақсы. ");
  await eventually("closed", () => closed.length === 1);
  assert.deepEqual([sent, closed, synthesizer.begun], [["error out_of_credits"], [4429], []]);
});

test("other scripts and invalid pauses are skipped with a warning", async () => {
  const { session, synthesizer, sent } = openSession();
  session.speak("漢字. 😀😀. Жақсы. Күте [pause 60s] тұрыңыз. Болды.");
  session.flush();
  await eventually("flushed", () => sent.includes("flushed 0"));
  assert.deepEqual(synthesizer.begun, ["жақсы.", "болды."]);
  assert.deepEqual(sent, [
    "warning nothing_to_say",
    "sound",
    "warning invalid_request",
    "sound",
    "flushed 0",
  ]);
});

test("when the service stops, flushed text is finished first", async () => {
  const { session, sent, closed } = openSession();
  session.speak("Жақсы. ");
  session.flush();
  session.speak("Бұл естілмейді. ");
  session.goingAway();
  await eventually("closed", () => closed.length === 1);
  assert.deepEqual([sent, closed], [["sound", "flushed 0", "done"], [1012]]);
});

test("a revoked key closes the session", async () => {
  const { session, sent, closed } = openSession();
  session.unauthorized("the API key was revoked or has expired");
  assert.deepEqual([sent, closed], [["error unauthorized"], [4401]]);
});
