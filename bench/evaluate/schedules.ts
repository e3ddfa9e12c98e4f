import { type SolverSchedule, swaySchedule } from "../../core/domain/synthesis/schedule.js";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { readPackage } from "../../native/models/find-packages.js";
import { FlowMatching } from "../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../native/models/flow-matching/manifest.js";
import { speakAlone } from "../../native/models/flow-matching/speak-alone.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { corpusLines } from "../support/corpora.js";
import { loadRecognizerParts } from "./acoustics.js";
import { type ErrorRates, errorRates } from "./error-rates.js";
import { MODELS } from "./paths.js";
import { percent, table } from "./report.js";
import { listenerOf } from "./synthesis.js";

const REFERENCE_STEPS = 64;
const SWAYS = [0, -0.5, -1, -1.3];
const STEPS = [8, 12, 16, 32];
/**
 * Steps of a 32-step grid that are kept, before the sway.
 * @see Zheng et al., "Accelerating Flow-Matching-Based Text-to-Speech via Empirically Pruned Step Sampling",
 *   2025
 */
const PRUNED: readonly (readonly number[])[] = [
  [0, 2, 4, 6, 8, 16, 24, 32],
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32],
];

/** One schedule, scored by the recogniser and compared with many steps. */
interface ScheduleRow {
  readonly name: string;
  readonly steps: number;
  readonly beam: ErrorRates;
  /**
   * Root mean square distance of normalised log-mel frames from those of 64 steps with the package's sway.
   */
  readonly melDistance: number;
  /** CPU time until a sentence's first sound if it is solved as a whole; mean, milliseconds. */
  readonly solvingMs: number;
}

export interface ScheduleReport {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly rows: readonly ScheduleRow[];
}

/** Speaks held-out sentences with several schedules of few steps. The noise is the same for all of them. */
export async function evaluateSchedules(options: {
  readonly modelId: string;
  readonly recognizerId: string;
  readonly limit: number;
}): Promise<ScheduleReport> {
  const folder = MODELS + options.modelId;
  const synthesizer = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(folder, "synthesis");
  const { manifest } = synthesizer;
  const model = await FlowMatching.load(synthesizer, { intraOpThreads: 1 });
  const recognizer = await loadRecognizerParts(MODELS + options.recognizerId);
  const listen = listenerOf(recognizer, manifest.sampleRateHz);
  const texts = heldOut(Math.min(options.limit, 40));
  const jobs = manifest.voices.flatMap((voice) =>
    texts.map(
      (spokenText): SynthesisJob => ({
        modelId: manifest.id,
        voice: voice.name,
        spokenText,
        speed: 1,
        nfe: REFERENCE_STEPS,
        seed: 1,
      }),
    ),
  );
  const references: Float32Array[] = [];
  for (const job of jobs) references.push(await melOf(model, job, swaySchedule(REFERENCE_STEPS, -1)));
  const rows: ScheduleRow[] = [];
  for (const { name, schedule } of schedules(synthesizer.contents.synthesis.solver)) {
    const pairs: { reference: string; hypothesis: string }[] = [];
    let [distance, solvingMs] = [0, 0];
    for (const [index, job] of jobs.entries()) {
      const before = process.cpuUsage();
      const mel = await melOf(model, job, schedule);
      const { user, system } = process.cpuUsage(before);
      solvingMs += (user + system) / 1_000 / jobs.length;
      distance += rootMeanSquare(mel, references[index]!) / jobs.length;
      const { beam } = await listen(await speakAlone(model, job, schedule));
      pairs.push({ reference: job.spokenText, hypothesis: beam });
    }
    rows.push({
      name,
      steps: schedule.length - 1,
      beam: errorRates(pairs),
      melDistance: distance,
      solvingMs,
    });
  }
  await model.release();
  await recognizer.graphs.release();
  return { modelId: options.modelId, recognizerId: options.recognizerId, rows };
}

/** Renders the report as Markdown. */
export function scheduleTable({ modelId, recognizerId, rows }: ScheduleReport): string {
  const cells = rows.map((row) => [
    String(row.steps),
    row.name,
    `${percent(row.beam.characterErrorRate)} / ${percent(row.beam.wordErrorRate)}`,
    row.melDistance.toFixed(3),
    row.solvingMs.toFixed(0),
  ]);
  const head = [
    "steps",
    "schedule",
    "CER / WER, %",
    "mel distance to 64 steps",
    "CPU to the first sound, ms",
  ];
  return `### ${modelId} transcribed by ${recognizerId}, by solver schedule\n\n${table(head, cells)}`;
}

function schedules({
  times = {},
}: SolverSchedule): { readonly name: string; readonly schedule: Float64Array }[] {
  const swayed = STEPS.flatMap((steps) =>
    SWAYS.map((sway) => ({ name: `sway ${sway}`, schedule: swaySchedule(steps, sway) })),
  );
  const fine = swaySchedule(32, -1);
  const pruned = PRUNED.map((kept) => ({
    name: "pruned, sway -1",
    schedule: Float64Array.from(kept, (step) => fine[step] ?? 1),
  }));
  const listed = Object.values(times).flatMap((own) => [
    { name: "sway -1", schedule: swaySchedule(own.length - 1, -1) },
    { name: "the package's own", schedule: Float64Array.from(own) },
  ]);
  return [
    ...swayed,
    ...pruned,
    ...listed.filter(({ name, schedule }) => !isSwayed(name, schedule.length - 1)),
  ];
}

/** Returns whether the schedules by sway already include this one. */
function isSwayed(name: string, steps: number): boolean {
  return name === "sway -1" && STEPS.includes(steps);
}

/** Returns sentences of letters alone, spread over the whole file. */
export function heldOut(count: number): string[] {
  const lines = corpusLines("kk-heldout.txt.br");
  const speakable = lines
    .map((line) => line.trim().toLowerCase())
    .filter((line) => /^[а-яёәғқңөұүһі ,.!?-]{20,160}$/.test(line));
  const stride = Math.max(1, Math.floor(speakable.length / count));
  return speakable.filter((_, index) => index % stride === 0).slice(0, count);
}

async function melOf(model: FlowMatching, job: SynthesisJob, schedule: Float64Array): Promise<Float32Array> {
  const piece = await model.begin(job, schedule);
  await model.solveChunk(piece);
  return piece.mel.slice(0, piece.frames * model.manifest.melBins);
}

function rootMeanSquare(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return Math.sqrt(sum / a.length);
}
