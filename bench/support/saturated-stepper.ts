import { toInt16 } from "../../core/domain/audio/pcm.js";
import { LiveStepper } from "../../native/live/stepper.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { readSamples } from "../evaluate/samples.js";
import { readRecordings } from "../evaluate/sets.js";
import { liveOpen } from "./live-open.js";

const SPEECH_SET = "human-asterisk-ru-core";
const RECORDINGS = 40;
const GAP_SECONDS = 0.6;
const WARM_UP_ROUNDS = 30;
/** Length of the longest utterance with its context. */
const RING_SAMPLES = 2 ** 20;

export interface SaturatedRun {
  readonly sessions: number;
  /** Number of 40 ms frames that wait in every session in each round. */
  readonly frames: number;
  /** Share of the rounds' time spent inside graph runs. */
  readonly runShare: number;
  readonly runMs: number;
  readonly wallMs: number;
  readonly audioSeconds: number;
  readonly finals: number;
  readonly partials: number;
}

/** Joins recordings of people with pauses in between; each session gets a different part. */
export async function talk(sampleRateHz: number): Promise<Int16Array> {
  const items = (await readRecordings()).filter(({ set }) => set === SPEECH_SET).slice(0, RECORDINGS);
  const parts: Int16Array[] = [];
  for (const { path } of items) {
    parts.push(toInt16(await readSamples(path, sampleRateHz)), new Int16Array(GAP_SECONDS * sampleRateHz));
  }
  const whole = new Int16Array(parts.reduce((total, part) => total + part.length, 0));
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return whole;
}

/**
 * Runs a live worker's loop without its thread: all sessions have audio in each round, with partials and
 * finals.
 */
export async function runSaturated(
  { model, utterances }: Recognizer,
  options: {
    readonly sessions: number;
    readonly frames: number;
    readonly rounds: number;
    readonly pcm: Int16Array;
  },
): Promise<SaturatedRun> {
  const { sessions, frames, rounds, pcm } = options;
  const { frameSamples, contextFrames, sampleRateHz } = model.manifest;
  const chunkSamples = frames * frameSamples;
  const rings = Array.from({ length: sessions }, () => PcmRing.create(RING_SAMPLES));
  let finals = 0;
  let partials = 0;
  const stepper = new LiveStepper({
    model,
    utterances,
    onStep: () => {},
    post(answer) {
      if (answer.type === "final") finals++;
      if (answer.type === "partial") partials++;
      if (answer.type !== "final" && answer.type !== "idle") return;
      const releasable = answer.resume.sample - contextFrames * frameSamples;
      if (releasable > 0) rings[answer.session]!.release(releasable);
    },
  });
  for (const [session, { buffer: ring }] of rings.entries()) {
    stepper.onMessage(liveOpen(session, ring));
  }
  const places = rings.map((_, session) => Math.floor((session / sessions) * (pcm.length - chunkSamples)));
  const round = async () => {
    for (const [session, ring] of rings.entries()) {
      if (places[session]! + chunkSamples > pcm.length) places[session] = 0;
      ring.write(pcm.subarray(places[session], places[session]! + chunkSamples));
      places[session]! += chunkSamples;
    }
    const startedAtMs = performance.now();
    while (await stepper.step());
    return performance.now() - startedAtMs;
  };
  for (let nth = 0; nth < WARM_UP_ROUNDS; nth++) await round();
  const runMsBefore = model.runMs;
  finals = 0;
  partials = 0;
  let wallMs = 0;
  for (let nth = 0; nth < rounds; nth++) wallMs += await round();
  const runMs = model.runMs - runMsBefore;
  const audioSeconds = (sessions * rounds * chunkSamples) / sampleRateHz;
  return { sessions, frames, runShare: runMs / wallMs, runMs, wallMs, audioSeconds, finals, partials };
}
