import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { VitsContents, VitsManifest } from "../../native/models/vits/manifest.js";
import { Vits } from "../../native/models/vits/vits.js";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { median } from "../support/synthesis-floor.js";

const TINY = fileURLToPath(new URL("../../../test/fixtures/adapters/tiny-vits", import.meta.url));
const TEXTS = {
  word: "Сәлем",
  sentence: "Бүгін ауа райы жақсы болады.",
  "nine seconds":
    "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады, ал кешке қарай жел күшейіп, күн салқындайды деп күтіледі.",
} as const;
const TIMES = 1;
/** Factors of the simulated core's slowness: 1, and one at which a "high" voice is as slow as speech. */
const SLOWER = [1, 2.5];

interface Variant {
  readonly name: string;
  readonly isSplit: boolean;
  readonly manifest: Partial<VitsManifest>;
  readonly chunking?: "growing";
}

const VARIANTS: readonly Variant[] = [
  { name: "sentence", isSplit: false, manifest: { pieces: "sentence" }, chunking: "growing" },
  { name: "clauses", isSplit: false, manifest: { pieces: "clauses" }, chunking: "growing" },
  {
    name: "windows of 64 and 384 frames, 64 of context",
    isSplit: true,
    manifest: { decoderContextFrames: 64 },
  },
  { name: "windows by the buffer, 16 of context", isSplit: true, manifest: {}, chunking: "growing" },
  { name: "clauses", isSplit: true, manifest: { pieces: "clauses" }, chunking: "growing" },
];

interface Stream {
  readonly firstMs: number;
  readonly audioSeconds: number;
  readonly underruns: number;
  readonly longestGapMs: number;
  readonly workSeconds: number;
  readonly parts: number;
}

/**
 * `npm run bench -- vits-streams FOLDER...`: Piper voices as a stream, on a clock of this process's CPU time
 * with one thread per graph: first audio, and underruns of a player that starts with it, sentence by sentence
 * and in parts.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const folders = smoke ? [TINY] : options.args.map((folder) => resolve(folder));
  if (folders.length === 0) throw new Error("specify at least one package folder of the family vits");
  const rows = [];
  for (const slower of smoke ? [1] : SLOWER) {
    for (const folder of folders) {
      const { manifest } = await readPackage<VitsManifest, VitsContents>(folder, "synthesis");
      for (const variant of VARIANTS.filter(({ isSplit }) => isSplit === "encoder" in manifest.files)) {
        rows.push(...(await measure(folder, variant, slower, smoke ? 1 : TIMES)));
      }
    }
  }
  console.log(tableOf(rows));
  if (smoke) return;
  console.log(await saveResult("vits-streams", { parameters: { texts: TEXTS, times: TIMES }, rows }));
}

type Row = Awaited<ReturnType<typeof measure>>[number];

async function measure(folder: string, variant: Variant, slower: number, times: number) {
  const model = await readPackage<VitsManifest, VitsContents>(folder, "synthesis");
  const nowMs = () => (slower * (process.cpuUsage().user + process.cpuUsage().system)) / 1_000;
  const changed = { ...model, manifest: { ...model.manifest, ...variant.manifest } };
  const voice = await Vits.load(changed, { intraOpThreads: 1 }, nowMs);
  const job: SynthesisJob = {
    ...{ modelId: model.manifest.id, voice: model.manifest.defaultVoice, speed: 1, nfe: 4, seed: 1 },
    ...{ spokenText: "", ...(variant.chunking !== undefined && { chunking: variant.chunking }) },
  };
  // Warm up like a worker.
  await streamOf(voice, { ...job, spokenText: "сәлем." }, nowMs);
  const rows = [];
  for (const [length, spokenText] of Object.entries(TEXTS)) {
    const streams: Stream[] = [];
    for (let time = 0; time < times; time++)
      streams.push(await streamOf(voice, { ...job, spokenText }, nowMs));
    const middle = (of: (stream: Stream) => number) => median(streams.map(of));
    rows.push({
      ...{ id: model.manifest.id, variant: variant.name, slower, length },
      firstMs: middle(({ firstMs }) => firstMs),
      audioSeconds: middle(({ audioSeconds }) => audioSeconds),
      underruns: middle(({ underruns }) => underruns),
      longestGapMs: middle(({ longestGapMs }) => longestGapMs),
      realTimeFactor: middle(({ workSeconds, audioSeconds }) => workSeconds / audioSeconds),
      parts: middle(({ parts }) => parts),
      rawFirstMs: streams.map(({ firstMs }) => Math.round(firstMs)),
    });
  }
  await voice.release();
  return rows;
}

/** Plays a stream while it is synthesized. */
async function streamOf(voice: Vits, job: SynthesisJob, nowMs: () => number): Promise<Stream> {
  const startedAtMs = nowMs();
  const rateHz = voice.manifest.sampleRateHz;
  let [firstMs, dryAtMs, seconds, underruns, longestGapMs, parts] = [0, 0, 0, 0, 0, 0];
  await voice.speak(job, {
    signal: new AbortController().signal,
    checkpoint: () => Promise.resolve(),
    give: (samples) => {
      const atMs = nowMs();
      if (parts++ === 0) firstMs = atMs - startedAtMs;
      else if (atMs > dryAtMs) {
        underruns++;
        longestGapMs = Math.max(longestGapMs, atMs - dryAtMs);
      }
      dryAtMs = Math.max(dryAtMs, atMs) + (1_000 * samples.length) / rateHz;
      seconds += samples.length / rateHz;
      return Promise.resolve();
    },
  });
  const workSeconds = (nowMs() - startedAtMs) / 1_000;
  return { firstMs, audioSeconds: seconds, underruns, longestGapMs, workSeconds, parts };
}

function tableOf(rows: readonly Row[]): string {
  return table(
    [
      "shape",
      "streamed by",
      "clock",
      "text",
      "first audio",
      "underruns, longest",
      "real-time factor",
      "parts",
    ],
    rows.map((row) => [
      row.id,
      row.variant,
      `x ${row.slower}`,
      `${row.length}, ${row.audioSeconds.toFixed(1)} s`,
      `${Math.round(row.firstMs)} ms`,
      `${row.underruns}, ${Math.round(row.longestGapMs)} ms`,
      row.realTimeFactor.toFixed(2),
      String(row.parts),
    ]),
  );
}
