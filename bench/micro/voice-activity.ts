import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { FRAME_SAMPLES, LIVE_RATE_HZ } from "../../core/domain/audio/frame.js";
import { toFloat } from "../../core/domain/audio/pcm.js";
import { readManifest } from "../../native/models/find-packages.js";
import { loadVoiceActivity } from "../../native/models/load-voice-activity.js";
import { readNearVoice } from "../../native/models/near-voice-package.js";
import type { SealedFolder } from "../../native/models/package.js";
import { StateRows } from "../../native/models/state-rows.js";
import type { VoiceActivity } from "../../native/models/voice-activity.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";
import { SILERO_PACKAGE, sileroPackage } from "../support/rooms/silero.js";
import { talk } from "../support/saturated-stepper.js";

const TINY = fileURLToPath(new URL("../../../test/fixtures/adapters/tiny-gigaam-ctc", import.meta.url));
/** Alternating measurements, so that other load on the machine affects all. */
const TURNS = 7;
/** Number of rows times frames in one measurement. */
const ROW_FRAMES = 3_200;
/** A live worker takes a frame at a time, a file worker 4 s. */
const SHAPES = [
  { kind: "silero", rows: 1, frames: 1 },
  { kind: "silero", rows: 8, frames: 1 },
  { kind: "silero", rows: 32, frames: 1 },
  { kind: "silero", rows: 64, frames: 1 },
  { kind: "silero", rows: 1, frames: 100 },
  { kind: "near", rows: 1, frames: 1 },
  { kind: "near", rows: 8, frames: 1 },
  { kind: "near", rows: 32, frames: 1 },
  { kind: "near", rows: 64, frames: 1 },
  { kind: "near", rows: 1, frames: 100 },
] as const;

/**
 * `npm run bench -- voice-activity`: CPU time per second of audio of one session, with Silero VAD one session
 * at a time and in batches, and with the near voice, alternating in one process. Takes a minute; the first
 * run installs Silero.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const silero = await loadVoiceActivity(smoke ? await tinySilero() : await sileroPackage("v6"), {
    intraOpThreads: 1,
  });
  const near = await loadVoiceActivity(
    { folder: ".", manifest: { id: "none", files: {} } },
    { intraOpThreads: 1 },
  );
  const voices = { silero, near };
  try {
    const pcm = toFloat(await talk(LIVE_RATE_HZ));
    for (const voice of [silero, near]) await requireSameBits(voice, pcm);
    const samples = SHAPES.map(() => [] as number[]);
    for (let turn = 0; turn <= (smoke ? 0 : TURNS); turn++) {
      for (const [index, { kind, rows, frames }] of SHAPES.entries()) {
        const rounds = smoke ? 2 : ROW_FRAMES / rows / frames;
        const cpuMs = await cpuPerSecond(voices[kind], pcm, { rows, frames, rounds });
        // The first round warms up.
        if (turn > 0) samples[index]!.push(cpuMs);
      }
    }
    if (smoke) return;
    const figures = SHAPES.map((shape, index) => {
      return { ...shape, cpuMs: percentiles(samples[index]!, 3)!.p50 };
    });
    for (const { kind, rows, frames, cpuMs } of figures)
      console.log(
        `${kind.padEnd(6)} ${String(rows).padStart(2)} rows, ${String(frames).padStart(3)} frames: ` +
          `${cpuMs.toFixed(3)} ms for a second of a session, ${(figures[0]!.cpuMs / cpuMs).toFixed(1)} times Silero's one by one`,
      );
    const parameters = {
      ...{ turns: TURNS, rowFrames: ROW_FRAMES, silero: SILERO_PACKAGE },
      near: readNearVoice().manifest.files["near"]!.sha256,
    };
    await saveResult("voice-activity", { parameters, figures, raw: samples });
  } finally {
    await silero.release();
    await near.release();
  }
}

/** Returns the tests' substitute for Silero: smoke runs download nothing. */
async function tinySilero(): Promise<SealedFolder> {
  return { folder: TINY, manifest: (await readManifest(TINY))! };
}

/** Requires batches and longer chunks to give each row the same result as alone. */
async function requireSameBits(voice: VoiceActivity, pcm: Float32Array): Promise<void> {
  const rows = 8;
  const frames = 40;
  const speech = new Float32Array(rows * frames);
  const all = pcmOf(pcm, rows, frames);
  await voice.hear({ frames, pcm: all, speech, states: new StateRows(voice, rows).rows });
  for (let row = 0; row < rows; row++) {
    const { rows: states } = new StateRows(voice, 1);
    const single = new Float32Array(1);
    for (let frame = 0; frame < frames; frame++) {
      const at = row * frames + frame;
      const audio = all.subarray(at * FRAME_SAMPLES, (at + 1) * FRAME_SAMPLES);
      await voice.hear({ frames: 1, pcm: audio, speech: single, states });
      assert.equal(single[0], speech[at], `row ${row}, frame ${frame}`);
    }
  }
}

/** @returns milliseconds of CPU time for a second of audio of one row */
async function cpuPerSecond(
  voice: VoiceActivity,
  pcm: Float32Array,
  { rows, frames, rounds }: { readonly rows: number; readonly frames: number; readonly rounds: number },
): Promise<number> {
  const { rows: states } = new StateRows(voice, rows);
  const speech = new Float32Array(rows * frames);
  const chunks = Array.from({ length: Math.min(rounds, 25) }, (_, round) =>
    pcmOf(pcm, rows, frames, round * frames),
  );
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round++)
    await voice.hear({ frames, pcm: chunks[round % chunks.length]!, speech, states });
  const { user, system } = process.cpuUsage(before);
  const seconds = (rows * frames * rounds * FRAME_SAMPLES) / LIVE_RATE_HZ;
  return (user + system) / 1_000 / seconds;
}

/**
 * Returns audio from a different position for each row, so that windows end at the same time but contain
 * different sounds.
 */
function pcmOf(pcm: Float32Array, rows: number, frames: number, firstFrame = 0): Float32Array {
  const length = frames * FRAME_SAMPLES;
  const all = new Float32Array(rows * length);
  for (let row = 0; row < rows; row++) {
    const start = (row * 37_000 + firstFrame * FRAME_SAMPLES) % (pcm.length - length);
    all.set(pcm.subarray(start, start + length), row * length);
  }
  return all;
}
