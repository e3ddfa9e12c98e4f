import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TranscriptionEngine } from "../../actors/transcription/engine.js";
import { PieceFinder } from "../../actors/transcription/piece-finder.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { createLog } from "../../core/observe/log.js";
import { startFilePool } from "../../native/file-pool.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import type { RecognizerModel } from "../../native/models/recognizer.js";
import { copyState } from "../../native/models/state-rows.js";
import type { BenchOptions } from "../bench-options.js";
import { readSamples } from "../evaluate/samples.js";
import { readRecordings, type SpokenItem } from "../evaluate/sets.js";
import { saveResult } from "../save-result.js";
import { type OfflinePeer, PEER_PACKAGE, prepareOfflinePeer } from "../support/peer-recognizer.js";
import { recognizerIn } from "../support/recognizer.js";

const MODEL = fileURLToPath(new URL("../../../models/svc-kk-ru-v2", import.meta.url));
const RATE_HZ = 16_000;
const FRAME_SAMPLES = 640;
const CHUNK_FRAMES = 50;
const SECONDS = 612;
const GAP_SECONDS = 0.6;
const ROUNDS = 5;
const NEVER = new AbortController().signal;

interface Figure {
  readonly name: string;
  readonly wallSeconds: number;
  readonly cpuSeconds: number;
}

interface Contestant {
  readonly name: string;
  run(): Promise<string>;
}

/**
 * `npm run bench -- files [ROUNDS]`: ten minutes of recordings of people with pauses between them, by the
 * engine with one and with two workers, compared with sherpa-onnx offline (same weights, one thread,
 * alternating in one process) and with the graphs alone. The peer receives the pieces of speech, which our
 * engine must find itself, and decodes greedily; our engine uses the language model. Five rounds take two
 * minutes.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const rounds = smoke ? 1 : Number(args[0] ?? ROUNDS);
  const pcm = await joinedRecordings(smoke ? 20 : SECONDS);
  const folder = await mkdtemp(join(tmpdir(), "dauys-files-"));
  const path = join(folder, "recordings.wav");
  await writeFile(path, writeWav(pcm, RATE_HZ));
  const { model } = await recognizerIn(MODEL);
  const floats = Float32Array.from(pcm, (sample) => sample / 32_768);
  const pieces = await piecesOf(model, floats);
  const engines = await Promise.all([1, 2].map((workerCount) => startEngine(workerCount)));
  const contestants: Contestant[] = [
    ...engines.map(([name, engine]) => ({ name, run: () => textOf(engine, path) })),
    ...(await peers(smoke, floats, pieces)),
    { name: "graphs alone", run: () => graphsAlone(model, floats, pieces) },
  ];
  try {
    const figures: Figure[] = [];
    const texts = new Map<string, string>();
    for (let round = 0; round <= rounds; round++) {
      for (const { name, run: runOne } of round % 2 === 0 ? contestants : [...contestants].reverse()) {
        const cpuBefore = process.cpuUsage();
        const startedAtMs = performance.now();
        texts.set(name, await runOne());
        const { user, system } = process.cpuUsage(cpuBefore);
        const wallSeconds = (performance.now() - startedAtMs) / 1_000;
        // The first round warms up.
        if (round > 0) figures.push({ name, wallSeconds, cpuSeconds: (user + system) / 1e6 });
      }
    }
    const [ours, twoWorkers] = contestants;
    if (texts.get(ours!.name) !== texts.get(twoWorkers!.name))
      throw new Error("the number of workers changes the text");
    const summary = contestants.map(({ name }) => summaryOf(name, figures));
    console.table(summary);
    const ratios = summary.map(({ name, cpuSeconds }) => ({
      name,
      /** CPU time as a multiple of our engine's with one worker. */
      cpuRatio: cpuSeconds / summary[0]!.cpuSeconds,
    }));
    const parameters = {
      ...{ peer: PEER_PACKAGE, rounds, audioSeconds: pcm.length / RATE_HZ, pieces: pieces.length },
      speechSeconds: pieces.reduce((sum, { start, end }) => sum + end - start, 0) / RATE_HZ,
    };
    if (!smoke) console.log(await saveResult("files", { parameters, ratios, summary, figures }));
  } finally {
    for (const [, engine] of engines) await engine.stop();
    await model.release();
    await rm(folder, { recursive: true, force: true });
  }
}

async function startEngine(workerCount: number): Promise<readonly [string, TranscriptionEngine]> {
  const { model } = await recognizerIn(MODEL);
  const { manifest } = model;
  await model.release();
  const engine = new TranscriptionEngine({
    pool: startFilePool({ modelFolder: MODEL, intraOpThreads: 1, workerCount }),
    modelId: manifest.id,
    sampleRateHz: manifest.sampleRateHz,
    frameSamples: manifest.frameSamples,
    forgets: recognizerFamilyOf(manifest).can.forget(manifest),
    maxSeconds: 7_200,
    log: createLog({ level: "error" }),
  });
  await engine.start();
  return [`dauys, ${workerCount} worker${workerCount > 1 ? "s" : ""}`, engine];
}

async function textOf(engine: TranscriptionEngine, path: string): Promise<string> {
  const { segments } = await engine.transcribe(path, NEVER);
  return segments.map(({ text }) => text).join(" ");
}

/** Concatenates recordings of people, with pauses. */
async function joinedRecordings(seconds: number): Promise<Int16Array> {
  const pcm = new Int16Array(Math.round(seconds * RATE_HZ));
  const items: readonly SpokenItem[] = await readRecordings();
  for (let at = 0, nth = 0; at < pcm.length; nth++) {
    const samples = await readSamples(items[nth % items.length]!.path, RATE_HZ);
    const part = samples.subarray(0, pcm.length - at);
    pcm.set(
      Int16Array.from(part, (sample) => Math.round(32_767 * sample)),
      at,
    );
    at += part.length + GAP_SECONDS * RATE_HZ;
  }
  return pcm;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the bounds of speech in samples. */
async function piecesOf(model: RecognizerModel, pcm: Float32Array): Promise<Span[]> {
  const finder = new PieceFinder({ frameSamples: FRAME_SAMPLES, sampleCount: pcm.length });
  const found = [];
  for await (const { speech } of stepsOver(model, pcm)) found.push(...finder.push(speech));
  found.push(...finder.finish());
  return found.map(({ startFrame, endSample }) => ({ start: startFrame * FRAME_SAMPLES, end: endSample }));
}

async function* stepsOver(model: RecognizerModel, pcm: Float32Array) {
  const batch = model.speechBatch(1, CHUNK_FRAMES);
  for (let at = 0; at < pcm.length; at += batch.pcm.length) {
    batch.pcm.fill(0).set(pcm.subarray(at, at + batch.pcm.length));
    await batch.run();
    copyState(batch.nextState, batch.state);
    yield batch;
  }
}

/**
 * Measures the lower bound for our engine: the encoder over everything, the full-context half over speech.
 */
async function graphsAlone(
  model: RecognizerModel,
  pcm: Float32Array,
  pieces: readonly Span[],
): Promise<string> {
  for await (const _ of stepsOver(model, pcm)) {
    // Discard the result.
  }
  for (const { start, end } of pieces) {
    const frames = Math.ceil((end - start) / FRAME_SAMPLES);
    await model.refine([new Float32Array(frames * model.encodedSize)]);
  }
  return "";
}

/**
 * Creates two peers: one gets the speech between pauses; the other gets 30 s at a time, as if there were no
 * voice activity detection.
 */
async function peers(
  smoke: boolean,
  pcm: Float32Array,
  pieces: readonly Span[],
): Promise<readonly Contestant[]> {
  // Smoke runs in the gate install nothing.
  if (smoke) return [];
  const peer = await prepareOfflinePeer(MODEL);
  const whole = Array.from({ length: Math.ceil(pcm.length / (30 * RATE_HZ)) }, (_, nth) => ({
    start: nth * 30 * RATE_HZ,
    end: Math.min((nth + 1) * 30 * RATE_HZ, pcm.length),
  }));
  return [
    { name: "sherpa-onnx, pieces of speech given", run: async () => hear(peer, pcm, pieces) },
    { name: "sherpa-onnx, 30 s at a time", run: async () => hear(peer, pcm, whole) },
  ];
}

function hear(peer: OfflinePeer, pcm: Float32Array, spans: readonly Span[]): string {
  const texts = spans.map(({ start, end }) => {
    const stream = peer.createStream();
    stream.acceptWaveform({ samples: pcm.slice(start, end), sampleRate: RATE_HZ });
    peer.decode(stream);
    return peer.getResult(stream).text;
  });
  return texts.join(" ");
}

function summaryOf(name: string, figures: readonly Figure[]) {
  const own = figures.filter((figure) => figure.name === name);
  const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return {
    name,
    wallSeconds: median(own.map(({ wallSeconds }) => wallSeconds)),
    cpuSeconds: median(own.map(({ cpuSeconds }) => cpuSeconds)),
  };
}
