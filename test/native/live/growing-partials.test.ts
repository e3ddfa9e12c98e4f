// Graphs that cannot stream read open utterances again while they grow, to have partials.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { liveOpen } from "../../../bench/support/live-open.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { LiveStepper } from "../../../native/live/stepper.js";
import type { DecodingParameters } from "../../../native/models/manifest.js";
import type { RecognizerModel } from "../../../native/models/recognizer.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer, ToLiveWorker } from "../../../native/threads/protocol.js";
import { joined, silence, tone } from "../../support/audio.js";
import { changeManifest, copyOfPackage, type Json } from "../../support/folders.js";

const FRAME_SAMPLES = 640;
const FRAME_MS = 40;
const PACKAGE = "test/fixtures/adapters/tiny-gigaam-ctc";
/**
 * A letter that random weights output for many tones; it serves as the space here, so that there are words.
 */
const SPACE_INSTEAD = "ю";
const PITCHES = [300, 700, 1_900, 500, 2_600, 1_100, 400, 2_200, 900, 3_100];

type Open = Extract<ToLiveWorker, { type: "open" }>;
type Partial = Extract<LiveWorkerAnswer, { type: "partial" }>;
type Final = Extract<LiveWorkerAnswer, { type: "final" }>;

/** Tones that change every 0.3 s, for which random weights output letters. */
function tones(seconds: number): Int16Array {
  const count = Math.round(seconds / 0.3);
  return joined(
    ...Array.from({ length: count }, (_, i) => tone(0.3, [PITCHES[(i * i) % 10]!, 60 + 90 * (i % 7)])),
  );
}

const AUDIO = joined(silence(0.6), tones(4.5), silence(0.8), tones(2.4), silence(0.4));

let recognizer: Recognizer;
before(async () => {
  const folder = await copyOfPackage(PACKAGE);
  const tokens = await readFile(join(folder, "tokens.txt"), "utf8");
  const swapped = tokens
    .replace(/^ {2}(\d+)$/mu, "% $1")
    .replace(`${SPACE_INSTEAD} `, "▁ ")
    .replace("% ", `${SPACE_INSTEAD} `);
  await writeFile(join(folder, "tokens.txt"), swapped);
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Record<string, Json>;
    const sha256 = createHash("sha256").update(swapped).digest("hex");
    return { ...manifest, files: { ...files, vocabulary: { path: "tokens.txt", sha256 } } };
  });
  recognizer = await recognizerIn(folder);
});
after(() => recognizer.model.release());

/** The stepper of a live worker, whose clock and passes can be observed. */
class Watched {
  readonly answers: LiveWorkerAnswer[] = [];
  /** What ran, in order: each pass with its rows, and each second pass. */
  readonly ran: string[] = [];
  /** The audio of each second pass. */
  readonly refined: Float32Array[] = [];
  /**
   * More audio in each second pass, so that the pass exceeds the time for second passes between two rounds.
   */
  besides = new Float32Array(0);
  /** How many milliseconds a pass takes. */
  passMs = 0;
  nowMs = 0;
  readonly stepper: LiveStepper;

  constructor(onPass: () => void = () => {}, decoding: Changes<DecodingParameters> = {}) {
    const { model } = recognizer;
    const { manifest } = model;
    const watched: RecognizerModel = Object.create(model, {
      manifest: { value: { ...manifest, decoding: { ...manifest.decoding, ...decoding } } },
      decodeSoFar: {
        value: (pcms: readonly Float32Array[]) => {
          this.ran.push(`partials ${pcms.length}`);
          this.nowMs += this.passMs;
          onPass();
          return model.decodeSoFar!(pcms);
        },
      },
      refine: {
        value: async (utterances: readonly Float32Array[]) => {
          await model.decodeUtterance(this.besides);
          this.ran.push("final");
          this.refined.push(...utterances.map((encoded) => encoded.slice()));
          return model.refine(utterances);
        },
      },
    }) as RecognizerModel;
    for (const name of ["stepBatches", "stepBatch", "decodeUtterance"] as const) {
      Object.defineProperty(watched, name, { value: model[name].bind(model) });
    }
    this.stepper = new LiveStepper({
      model: watched,
      utterances: new UtteranceDecoder(
        watched,
        new PrefixBeamSearch(model.vocabulary, null, model.manifest.decoding),
      ),
      post: (answer) => this.answers.push(answer),
      onStep: () => {},
      nowMs: () => this.nowMs,
    });
  }

  open(session: number, changes: Changes<Open> = {}): PcmRing {
    const ring = PcmRing.create(2 ** 20);
    this.stepper.onMessage(liveOpen(session, ring.buffer, changes));
    return ring;
  }

  async untilQuiet(): Promise<void> {
    while (await this.stepper.step());
    // Messages that waited for a finished search arrive in a separate turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes one frame of each session at a time, as people speak. */
  async hear(audio: ReadonlyMap<PcmRing, Int16Array>): Promise<void> {
    const longest = Math.max(...[...audio.values()].map(({ length }) => length));
    for (let at = 0; at < longest; at += FRAME_SAMPLES) {
      for (const [ring, pcm] of audio) ring.write(pcm.subarray(at, at + FRAME_SAMPLES));
      this.nowMs += FRAME_MS;
      await this.untilQuiet();
    }
  }

  partialsOf(session = 0): Partial[] {
    return this.answers.filter(
      (answer): answer is Partial => answer.type === "partial" && answer.session === session,
    );
  }

  finalsOf(session = 0): Final[] {
    return this.answers.filter(
      (answer): answer is Final => answer.type === "final" && answer.session === session,
    );
  }

  get passes(): number {
    return this.ran.filter((run) => run.startsWith("partials")).length;
  }
}

type Changes<T> = { readonly [K in keyof T]?: T[K] };

async function heard(
  audio: Int16Array,
  changes: Changes<Open> = {},
  passMs = 0,
  decoding: Changes<DecodingParameters> = {},
): Promise<Watched> {
  const watched = new Watched(() => {}, decoding);
  watched.passMs = passMs;
  const ring = watched.open(0, changes);
  await watched.hear(new Map([[ring, audio]]));
  watched.stepper.onMessage({ type: "finish", session: 0, atSample: audio.length });
  await watched.untilQuiet();
  assert.equal(watched.answers.at(-1)?.type, "finished");
  return watched;
}

/** Asserts that the stable text only grows, and returns the stable text of the last partial. */
function agreedOf(partials: readonly Partial[]): string {
  let agreed = "";
  for (const { text, stable } of partials) {
    const now = [...text].slice(0, stable).join("");
    assert.ok(now.startsWith(agreed), `"${now}" is less than "${agreed}"`);
    agreed = now;
  }
  return agreed;
}

/** Random weights are uncertain: one word in five may change with more audio. */
function assertAgrees(agreed: string, final: string): void {
  const words = final.split(" ");
  const others = agreed.split(" ").filter((word, i) => word !== words[i]);
  assert.ok(others.length <= agreed.split(" ").length / 5, `"${agreed}" before "${final}"`);
}

test("the stable part of partials grows during an utterance into the final", async () => {
  const watched = await heard(AUDIO);
  const finals = watched.finalsOf();
  assert.equal(finals.length, 2);
  for (const [utterance, final] of finals.entries()) {
    const partials = watched.partialsOf().filter((partial) => partial.utterance === utterance);
    assert.ok(partials.length > 3, `${partials.length} partials of utterance ${utterance}`);
    const agreed = agreedOf(partials);
    assert.ok(agreed.length > final.text!.length / 4, `"${agreed}" of "${final.text}"`);
    assertAgrees(agreed, final.text!);
    assert.ok(watched.answers.indexOf(partials.at(-1)!) < watched.answers.indexOf(final));
  }
});

test("finals are bit-identical to those of files, with or without partials", async () => {
  const withPartials = await heard(AUDIO);
  const without = await heard(AUDIO, { wantsPartials: false });
  assert.equal(without.passes, 0);
  assert.deepEqual(withPartials.finalsOf(), without.finalsOf());
  const { model } = recognizer;
  const files = new UtteranceDecoder(
    model,
    new PrefixBeamSearch(model.vocabulary, null, model.manifest.decoding),
  );
  const texts: string[] = [];
  for (const pcm of withPartials.refined) {
    const { text } = await files.decode(pcm, { offsetSeconds: 0, speechMean: 1, hotWords: null });
    texts.push(text);
  }
  assert.deepEqual(
    withPartials.finalsOf().map(({ text }) => text),
    texts,
  );
});

test("passes for partials take at most 40 % of the time", async () => {
  const counts: number[] = [];
  for (const passMs of [0, 400]) {
    const watched = await heard(AUDIO, {}, passMs);
    counts.push(watched.passes);
    const share = (watched.passes * passMs) / watched.nowMs;
    assert.ok(share <= 0.41, `${watched.passes} passes of ${passMs} ms in ${watched.nowMs} ms`);
    agreedOf(watched.partialsOf().filter(({ utterance }) => utterance === 0));
  }
  assert.ok(counts[0]! > counts[1]! && counts[1]! > 0, counts.join(", "));
});

test("a busy worker produces no partials", async () => {
  const watched = new Watched();
  const ring = watched.open(0);
  for (let at = 0; at < AUDIO.length; at += FRAME_SAMPLES) {
    ring.write(AUDIO.subarray(at, at + FRAME_SAMPLES));
    const step = watched.stepper.step();
    // The clock advances during the round.
    watched.nowMs += FRAME_MS;
    await step;
  }
  assert.ok(watched.ran.includes("final"));
  // The worker's load is known after the first second.
  assert.ok(watched.passes <= 3, `${watched.passes} passes`);
});

test("no pass for partials delays a final", async () => {
  const watched = new Watched();
  watched.passMs = 200;
  await watched.stepper.warmUp();
  watched.ran.length = 0;
  watched.besides = new Float32Array(20 * 16_000).fill(0.1);
  const [speaking, ...pausing] = [0, 1, 2, 3].map((session) => watched.open(session));
  const spoken = joined(tones(1.5), silence(0.4));
  const other = tones(9);
  /** What ran after each frame of the pausing sessions. */
  const ran: string[][] = [];
  for (let at = 0, otherAt = 0; at < spoken.length; at += FRAME_SAMPLES) {
    for (const ring of pausing) ring.write(spoken.subarray(at, at + FRAME_SAMPLES));
    // Send so much of the other session's audio that a pass over it is always due.
    if (at > 16_000) {
      speaking!.write(other.subarray(otherAt, otherAt + 10 * FRAME_SAMPLES));
      otherAt += 10 * FRAME_SAMPLES;
    }
    // By now the cost of earlier passes is paid off.
    watched.nowMs += 5_000;
    await watched.untilQuiet();
    ran.push(watched.ran.splice(0));
  }
  const isPass = (run: string) => run.startsWith("partials");
  const asked = ran.findIndex((runs) => runs.includes("final"));
  assert.ok(asked > 0, JSON.stringify(ran));
  assert.deepEqual(ran[asked - 1], [], "a pass of 200 ms would hold up the final");
  assert.ok(
    ran.slice(asked - 8, asked - 1).some((runs) => runs.some(isPass)),
    JSON.stringify(ran),
  );
  assert.deepEqual(ran[asked]!.slice(0, 3), ["final", "final", "final"]);
  assert.ok(ran[asked]!.slice(3).some(isPass), "what was held back runs behind them");
});

test("utterances of several sessions are read in one run", async () => {
  const watched = new Watched();
  // Partials that become due while the last pass is paid off share the next one.
  watched.passMs = 75;
  const rings = [0, 1, 2, 3].map((session) => watched.open(session));
  await watched.hear(
    new Map(rings.map((ring, i) => [ring, joined(silence(0.2 * i), tones(3), silence(0.8))])),
  );
  assert.ok(watched.ran.includes("partials 2"), watched.ran.join(", "));
  const alone = await heard(joined(silence(0.2), tones(3), silence(0.8)));
  const agreed = agreedOf(watched.partialsOf(1));
  assert.ok(agreed.length > 0);
  assertAgrees(agreed, alone.finalsOf()[0]!.text!);
  assert.equal(watched.finalsOf(1)[0]!.text, alone.finalsOf()[0]!.text);
});

test("a long utterance is read from shortly before the agreed text", async () => {
  const longest: number[] = [];
  const watched = new Watched();
  const { model } = recognizer;
  const ring = watched.open(0);
  const decodeSoFar = model.decodeSoFar!;
  Object.defineProperty(model, "decodeSoFar", {
    configurable: true,
    value: (pcms: readonly Float32Array[]) => {
      longest.push(pcms[0]!.length / 16_000);
      return decodeSoFar(pcms);
    },
  });
  try {
    await watched.hear(new Map([[ring, tones(12)]]));
  } finally {
    Object.defineProperty(model, "decodeSoFar", { configurable: true, value: decodeSoFar });
  }
  assert.ok(longest.length > 12);
  assert.ok(Math.max(...longest) <= 8, `${Math.max(...longest)} s`);
  agreedOf(watched.partialsOf());
  const { text } = watched.partialsOf().at(-1)!;
  assert.ok(text.length > 20, text);
});

test("a replacement worker ends a shown utterance, even without text", async () => {
  const hum = joined(silence(0.4), tone(0.4, [120]), silence(0.6));
  const texts: (string | null)[] = [];
  for (const wasShown of [false, true]) {
    const watched = await heard(hum, { wasShown, nextUtterance: 3 }, 0, { evidencePerCharacter: 1_000 });
    assert.deepEqual(watched.partialsOf(), []);
    assert.deepEqual(
      watched.finalsOf().map(({ utterance }) => utterance),
      [3],
    );
    texts.push(watched.finalsOf()[0]!.text);
  }
  assert.deepEqual(texts, [null, ""]);
});

test("a replacement worker continues from the last final with the same finals", async () => {
  const whole = await heard(AUDIO);
  const [first, second] = whole.finalsOf();
  const watched = new Watched();
  const ring = watched.open(0, { from: first!.resume, nextUtterance: 1, wasShown: true });
  await watched.hear(new Map([[ring, AUDIO]]));
  assert.deepEqual(
    watched.finalsOf().map(({ text, utterance }) => [utterance, text]),
    [[second!.utterance, second!.text]],
  );
  agreedOf(watched.partialsOf());
});

test("a session that is closed during a pass gets no more messages", async () => {
  const sent: number[] = [];
  const watched: Watched = new Watched(() => {
    watched.stepper.onMessage({ type: "close", session: 0 });
    sent.push(watched.answers.length);
  });
  const ring = watched.open(0);
  await watched.hear(new Map([[ring, tones(3)]]));
  assert.equal(sent.length, 1);
  assert.equal(watched.answers.length, sent[0]);
});
