// Live speech with the client library, over a running service with the shipped voice.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import type { LiveSpeech } from "../../src/client/live-speech.js";
import type { LiveSpeechFrame, LiveSpeechOptions, SpokenTurn } from "../../src/client/live-speech-types.js";
import { DauysClient } from "../../src/client/node.js";
import { eventually } from "../support/eventually.js";
import { splitAnywhere } from "../support/pieces.js";
import { synthesisCredits } from "../support/prices.js";
import * as fc from "../support/properties.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

/** The fewest solver steps, because quality does not matter here. */
const FAST = { nfe: 4, room_tone: false } as const;

let service: SharedService;
let client: DauysClient;

before(async () => {
  service = await sharedService();
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
});

interface Reading {
  readonly speech: LiveSpeech;
  readonly frames: LiveSpeechFrame[];
  /** Resolves when the loop has ended. */
  readonly read: Promise<void>;
}

function open(options: LiveSpeechOptions = {}, from = client): Reading {
  const speech = from.speakLive({ ...FAST, ...options });
  const frames: LiveSpeechFrame[] = [];
  const read = (async () => {
    for await (const frame of speech) frames.push(frame);
  })();
  read.catch(() => {});
  return { speech, frames, read };
}

const secondsOf = (frames: readonly LiveSpeechFrame[]) =>
  frames.reduce((sum, { durationSeconds }) => sum + durationSeconds, 0);

test("text in pieces is spoken in order, with word times in each frame, and costs its characters", async () => {
  const text = "Бүгін 15% қосты. Ауа райы жылы болады.";
  const { speech, frames, read } = open();
  for (const piece of [...text]) void speech.write(piece);
  const done = await speech.close();
  await read;
  assert.deepEqual([done.characters, done.creditsCharged], [38, synthesisCredits(38)]);
  assert.ok(Math.abs(secondsOf(frames) - done.audioSeconds) < 0.001);
  assert.equal(frames.map((frame) => frame.text ?? "").join(""), text);
  let end = 0;
  for (const { turn, startSeconds, durationSeconds } of frames) {
    assert.equal(turn, 0);
    assert.ok(Math.abs(startSeconds - end) < 0.001);
    end = startSeconds + durationSeconds;
  }
  const words = frames.flatMap((frame) => frame.words);
  assert.deepEqual(
    words.map(({ from, to }) => [...text].slice(from, to).join("")),
    ["Бүгін", "15%", "қосты", "Ауа", "райы", "жылы", "болады"],
  );
  assert.equal(words[1]!.spoken, "он бес пайыз");
  for (const frame of frames)
    for (const { start } of frame.words) assert.ok(start >= 0 && start < frame.durationSeconds);
});

test("audio is resampled to the requested rate", async () => {
  const { speech, frames, read } = open({ sampleRateHz: 8_000 });
  void speech.write("Сәлем!");
  const { audioSeconds } = await speech.close();
  await read;
  assert.ok(frames.length > 0 && frames.every(({ sampleRateHz }) => sampleRateHz === 8_000));
  assert.ok(Math.abs(secondsOf(frames) - audioSeconds) < 0.001);
});

test("pronunciations apply from the first word on; invalid ones end the session with their rule", async () => {
  const { speech, frames, read } = open({ pronunciations: [{ word: "GPT", say: "джи пи ти" }] });
  for (const piece of ["GP", "T-ге", " бар."]) void speech.write(piece);
  const { characters } = await speech.close();
  await read;
  const words = frames.flatMap((frame) => frame.words);
  assert.deepEqual(
    words.map(({ word, spoken }) => [word, spoken]),
    [
      ["GPT-ге", "джи пи тиге"],
      ["бар", undefined],
    ],
  );
  assert.equal(characters, 11);
  const wrong = open({ pronunciations: [{ word: "", say: "а" }] });
  void wrong.speech.write("Сәлем!");
  await assert.rejects(wrong.speech.close(), {
    code: "invalid_request",
    message: /pronunciations\[0\]\.word must be 1 to 60 characters, received 0/,
  });
});

test("leaving the loop ends the session", async () => {
  const speech = client.speakLive(FAST);
  void speech.write("Бірінші сөйлем өте ұзақ айтылады деп ойлаймын. ".repeat(40));
  const flushed = speech.flush();
  for await (const { turn } of speech) {
    assert.equal(turn, 0);
    break;
  }
  await assert.rejects(flushed, { code: "left" });
  await assert.rejects(speech.done, { code: "left" });
});

test("a cancel ends a turn with what was sent and heard, and its audio does not follow", async () => {
  const said = "Бірінші сөйлем өте ұзақ айтылады деп ойлаймын. ";
  const second = open();
  void second.speech.write(said.repeat(40));
  const turn = second.speech.flush();
  await eventually("audio", () => second.frames.length > 0);
  const heardFrame = second.frames[0]!;
  const playedSeconds = heardFrame.words[0]!.start + 0.01;
  const cancelled = await second.speech.cancel({ playedSeconds, playedTurn: 0 });
  assert.equal(cancelled.turn, 1);
  assert.deepEqual(cancelled.heard, { turn: 0, characters: 7 });
  assert.equal((await turn).isCancelled, true);
  assert.ok(cancelled.characters < 40 * said.length && cancelled.characters % said.length === 0);
  assert.equal(cancelled.creditsCharged, synthesisCredits(cancelled.characters));
  const before = second.frames.length;
  void second.speech.write("Жақсы.");
  const done = await second.speech.close();
  await second.read;
  const after = second.frames.slice(before);
  assert.ok(after.length > 0 && after.every(({ turn: number }) => number === 2));
  assert.equal(done.characters, cancelled.characters + 6);
  assert.equal(done.creditsCharged, cancelled.creditsCharged + synthesisCredits(6));
});

test("a long text waits in the client, and is spoken to its end", async () => {
  const { speech, read } = open({ speed: 2 });
  const skipped = "😀. ".repeat(200);
  const text = `${skipped}${"[pause 10s] Иә. ".repeat(12)}`;
  let written = false;
  void speech.write(text.repeat(14)).then(() => {
    written = true;
  });
  await Promise.resolve();
  assert.equal(written, false);
  await speech.cancel();
  void speech.write("Болды.");
  const done = await speech.close();
  await read;
  assert.ok(done.characters >= 6);
});

test("errors end the loop and every promise with the service's code", async () => {
  const { speech, read } = open({ voice: "nobody" });
  void speech.write("Сәлем. ");
  const flushed = speech.flush();
  for (const promise of [read, flushed, speech.done])
    await assert.rejects(promise, { code: "unknown_voice" });
  await assert.rejects(speech.write("а"), { code: "unknown_voice" });
  const closed = open();
  void closed.speech.close();
  await assert.rejects(closed.speech.write("а"), { code: "closed" });
  await closed.speech.done;
});

type Step =
  | { readonly type: "write"; readonly text: string }
  | { readonly type: "flush" }
  | { readonly type: "cancel" }
  | { readonly type: "hear" };

const SENTENCES = ["Сәлем. ", "Иә, 5 кг. ", "Жоқ! ", "Қалайсыз? ", "т.б. ", "Абай 1904 ж. өлді. "];
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...SENTENCES).map((text) => ({ type: "write", text }) as const) },
  { weight: 2, arbitrary: fc.constant({ type: "flush" } as const) },
  { weight: 1, arbitrary: fc.constant({ type: "cancel" } as const) },
  { weight: 2, arbitrary: fc.constant({ type: "hear" } as const) },
);

test("after any order of writes, flushes and cancels, audio is in order and exactly what was sent is charged", async () => {
  const { url, key } = await sharedService();
  const customer = new DauysClient({ baseUrl: url, apiKey: key });
  let total = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 14 }), fc.nat(), async (steps, seed) => {
      const { speech, frames, read } = open({}, customer);
      const written: string[] = [""];
      const flushes: Promise<SpokenTurn>[] = [];
      let charged = 0;
      for (const step of steps) {
        if (step.type === "write") {
          written[speech.turn] = (written[speech.turn] ?? "") + step.text;
          for (const piece of splitAnywhere(step.text, seed)) void speech.write(piece);
        } else if (step.type === "flush") flushes.push(speech.flush());
        else if (step.type === "hear") {
          const count = frames.length;
          const isSpeaking = flushes.length > 0 && Promise.race([flushes.at(-1), read]);
          if (isSpeaking !== false) await isSpeaking;
          assert.ok(frames.length >= count);
        } else {
          const from = speech.turn + 1;
          const count = frames.length;
          const cancelled = await speech.cancel();
          assert.equal(cancelled.turn, from - 1);
          assert.equal(cancelled.creditsCharged, synthesisCredits(cancelled.characters));
          assert.ok(frames.slice(count).every(({ turn }) => turn >= from));
          charged += cancelled.creditsCharged;
        }
      }
      const last = speech.turn;
      const done = await speech.close();
      await read;
      const turns = await Promise.all(flushes);
      for (const { isCancelled, creditsCharged, characters, turn } of turns) {
        charged += creditsCharged;
        if (isCancelled) continue;
        assert.equal(characters, [...(written[turn] ?? "")].length, `turn ${turn} is spoken whole`);
      }
      const isRestWritten = (written[last] ?? "") !== "";
      if (isRestWritten) charged += synthesisCredits([...written[last]!].length);
      assert.equal(done.creditsCharged, charged);
      for (const [at, frame] of frames.entries()) {
        const next = frames[at + 1];
        if (next === undefined) continue;
        assert.ok(next.turn > frame.turn || next.sentence >= frame.sentence);
        if (next.turn !== frame.turn) assert.equal(next.startSeconds, 0);
      }
      total += charged;
    }),
    { numRuns: 12 },
  );
  await eventually("everything is charged once", async () => {
    const { balance, held } = await customer.balance();
    assert.ok(balance >= FREE_GRANT_CREDITS - total, `${balance} and ${total}`);
    return held === 0 && balance === FREE_GRANT_CREDITS - total;
  });
});
