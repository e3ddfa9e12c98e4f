import { existsSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { writeWav } from "../../core/domain/audio/wav.js";
import { recognizerFamilyOf } from "../../native/models/families.js";
import { findPackages } from "../../native/models/find-packages.js";
import type { RecognizerManifest } from "../../native/models/manifest.js";
import type { PackageFolder } from "../../native/models/package.js";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { chunkCosts, showChunkCosts } from "../support/chunk-cost.js";
import { freePort } from "../support/free-port.js";
import { type LiveRound, runLiveRound } from "../support/live-round.js";
import { measureLoad } from "../support/load-figures.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { billions, boundOf, type ProcessorSpeed, processorSpeed } from "../support/processor-speed.js";
import { putPackage } from "../support/put-package.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { type SpeechRun, streamPcm } from "../support/speech-client.js";
import {
  SAMPLE_RATE_HZ,
  SENTENCES,
  type SpokenStream,
  speakLongStream,
  speakStream,
} from "../support/spoken-stream.js";
import { median } from "../support/synthesis-floor.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Folder where the recipe writes packages with real shapes. */
const TRUE_SHAPES = join(ROOT, ".cache/true-shapes");
const RECIPE = "python3 models/recipes/adapters/true_shapes";
const TINY = join(ROOT, "test/fixtures/adapters");
/** Package of a smoke run, which tests both packages in one service. */
const SMOKE_PACKAGE = "tiny-gigaam-ctc";
const SMOKE_BESIDE = join(TINY, "tiny-vits");
/** The other package: a service needs one for each task. */
const BESIDE = {
  transcription: join(ROOT, "models/svc-kk-v1"),
  synthesis: join(ROOT, "models/svc-kk-ru-v2"),
  punctuation: join(ROOT, "models/svc-kk-ru-v2"),
  diarization: join(ROOT, "models/svc-kk-ru-v2"),
};
/**
 * Limits for p95 from the true end of speech, which define the sessions that a service carries; the second
 * ends the rounds.
 */
const REACHES_P95_MS = [1_000, 2_000] as const;
/** Windows in a manifest that are longer than the longest utterance. */
const WHOLE = { strideSeconds: 30, overlapSeconds: 0.8 };
const COUNTS = [1, 8, 16, 24, 32];
/** Numbers of sessions with long utterances. */
const LONG_COUNTS = [1, 8];
/** Sentences without commas, at which voices pause. */
const UNBROKEN = SENTENCES.map((text) => text.replaceAll(",", ""));
const LONG_UTTERANCES = [UNBROKEN.slice(0, 2), UNBROKEN.slice(2), UNBROKEN];
const FILE_SECONDS = 60;
/** Length of the utterance for measuring memory: the longest that GigaAM accepts. */
const UTTERANCE_SECONDS = 25;
const TEXTS = {
  word: "Сәлем",
  sentence: "Бүгін ауа райы жақсы болады.",
  "nine seconds":
    "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады, ал кешке қарай жел күшейіп, күн салқындайды деп күтіледі.",
} as const;
const SPOKEN_TIMES = 3;

/** Settings of a service and of a package. */
interface Way {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly manifest: Readonly<Record<string, unknown>>;
}

const ONE_EACH = { FILE_WORKERS: "1", SYNTHESIS_WORKERS: "1" };
const USUAL: Way = {
  name: "usual",
  settings: { ...ONE_EACH, LIVE_WORKERS: "1", ORT_THREADS: "1" },
  manifest: {},
};
const ALL_CORES = { LIVE_WORKERS: String(availableParallelism()), ORT_THREADS: "1" };
const STREAMING: Way = { name: "all cores", settings: { ...ONE_EACH, ...ALL_CORES }, manifest: {} };
/** Ways to serve live sessions with a graph that cannot stream, on the cores of the machine. */
const OFFLINE_WAYS: readonly Way[] = [
  {
    name: "whole utterances",
    settings: { ...ONE_EACH, ...ALL_CORES },
    manifest: { windows: WHOLE },
  },
  { name: "windows", settings: ONE_EACH, manifest: {} },
];

/**
 * `npm run bench -- families [FOLDER [PART]]`: the cost of packages with real weights, each alone in a new
 * service with one worker per kind and one thread per graph: load, memory, files, live sessions until p95 of
 * finals exceeds two seconds, first audio. Live sessions get all cores; graphs that cannot stream read their
 * utterances whole and in windows. FOLDER contains packages; those of the recipe
 * `models/recipes/adapters/true_shapes` by default. The result of a part of them is `families-PART`.
 */
export async function run(options: BenchOptions): Promise<void> {
  const { smoke } = options;
  const folder = smoke ? TINY : resolve(options.args[0] ?? TRUE_SHAPES);
  if (!existsSync(folder))
    throw new Error(`${folder} does not exist: create it with \`${RECIPE} --out ${folder}\``);
  const packages = (await findPackages(folder)).filter(
    ({ manifest }) => !smoke || manifest.id === SMOKE_PACKAGE,
  );
  if (packages.length === 0)
    throw new Error(`${folder} has no packages: create some with \`${RECIPE} --out ${folder}\``);
  const families: PackageFigures[] = [];
  const loadBefore = loadavg()[0];
  const speed = await processorSpeed({ smoke });
  console.log(
    `one core: ${billions(speed.fp32)} operations a second in fp32, ${billions(speed.int8)} in int8`,
  );
  for (const found of packages) {
    for (const way of waysOf(found)) {
      const figures = await measurePackage(found, way, { speed, smoke });
      families.push(figures);
      print(figures);
    }
  }
  if (smoke) return;
  const parameters = {
    reachesP95Ms: REACHES_P95_MS,
    processor: { model: cpus()[0]?.model, operationsPerSecond: speed },
    fileSeconds: FILE_SECONDS,
    utteranceSeconds: UTTERANCE_SECONDS,
    sentences: SENTENCES,
    texts: TEXTS,
    /** Load averages over one minute, before and after, which show other work on the two cores. */
    loadAverages: [loadBefore, loadavg()[0]],
  };
  console.log(tables(families));
  const part = options.args[1];
  console.log(
    await saveResult(part === undefined ? "families" : `families-${part}`, { parameters, families }),
  );
}

type PackageFigures = Awaited<ReturnType<typeof measurePackage>>;

function waysOf({ manifest }: PackageFolder): readonly Way[] {
  if (manifest.task !== "transcription") return [USUAL];
  const { can } = recognizerFamilyOf(manifest as RecognizerManifest);
  if (!can.windows) return [can.streams ? STREAMING : USUAL];
  // The fp32 package already shows the difference.
  return manifest.id.endsWith("int8") ? OFFLINE_WAYS.slice(1) : OFFLINE_WAYS;
}

async function measurePackage(
  found: PackageFolder,
  way: Way,
  { speed, smoke }: { readonly speed: ProcessorSpeed; readonly smoke: boolean },
) {
  const { folder, manifest } = found;
  const weightsBytes = await graphBytes(found);
  const load = await measureLoad(folder, smoke ? 1 : UTTERANCE_SECONDS);
  const chunks = way === STREAMING ? await chunkCosts(found) : null;
  const of = (bytes: number | null) => (bytes === null ? null : (bytes - load.beforeBytes) / weightsBytes);
  const models = await mkdtemp(join(tmpdir(), "dauys-families-"));
  const operatorPort = await freePort();
  try {
    await putPackage(folder, join(models, manifest.id), way.manifest);
    await putPackage(smoke ? SMOKE_BESIDE : BESIDE[manifest.task], join(models, "beside"));
    const service = await startServiceProcess({
      MODELS_DIR: models,
      OPERATOR_PORT: String(operatorPort),
      ...way.settings,
      ...{ LIVE_PER_ORG: "1000", SYNTHESIS_PER_ORG: "1000" },
    });
    try {
      await creditDevelopment(service, 1_000_000_000);
      const readyBytes = service.residentBytes();
      const hears = manifest.task === "transcription";
      const work = {
        ...(hears && (await measureListening(service, operatorPort, smoke))),
        ...((!hears || smoke) && {
          speech: await measureSpeaking(service, hears ? "tiny-vits" : manifest.id, smoke),
        }),
      };
      return {
        id: manifest.id,
        family: manifest.family,
        way: way.name,
        weightsBytes,
        bound: boundOf(manifest, weightsBytes, speed),
        chunks,
        load: { ...load, peakOfWeights: of(load.peakBytes), loadedOfWeights: of(load.loadedBytes) },
        /** Includes the other task's shipped package, and all workers. */
        service: { readyMs: service.readyMs, readyBytes, workedBytes: service.residentBytes() },
        ...work,
      };
    } finally {
      await service.stop();
    }
  } finally {
    await rm(models, { recursive: true });
  }
}

/** Size of all graphs and their side files, the denominator of the memory ratio. */
async function graphBytes({ folder, manifest }: PackageFolder): Promise<number> {
  const sizes = await Promise.all(
    Object.values(manifest.files).map(async ({ path }) => (await stat(join(folder, path))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function measureListening(service: ServiceProcess, operatorPort: number, smoke: boolean) {
  const stream = await speakStream(service, smoke ? SENTENCES.slice(0, 1) : SENTENCES);
  const file = await measureFile(service, stream, smoke ? 1 : FILE_SECONDS);
  const rounds: LiveRound[] = [];
  for (const sessions of smoke ? [1] : COUNTS) {
    const round = await runLiveRound({ service, operatorPort, stream, sessions });
    rounds.push(round);
    printRound(round);
    if (!keepsUp(round, REACHES_P95_MS[1])) break;
  }
  const longStream = smoke ? stream : await speakLongStream(service, LONG_UTTERANCES);
  const long: LiveRound[] = [];
  for (const count of smoke ? [1] : LONG_COUNTS) {
    const round = await runLiveRound({ service, operatorPort, stream: longStream, sessions: count });
    long.push(round);
    printRound(round);
  }
  const sessions = REACHES_P95_MS.map((p95Ms) => {
    return rounds.filter((round) => keepsUp(round, p95Ms)).at(-1)?.sessions ?? 0;
  });
  return { file, live: { sessions, rounds: rounds.map(summary), long: long.map(summary) } };
}

/** Measures the stream, repeated, as one file. */
async function measureFile(service: ServiceProcess, { pcm }: SpokenStream, seconds: number) {
  const times = Math.ceil((seconds * SAMPLE_RATE_HZ) / pcm.length);
  const whole = new Int16Array(times * pcm.length);
  for (let time = 0; time < times; time++) whole.set(pcm, time * pcm.length);
  const cpuBefore = service.cpuSeconds();
  const startedAtMs = performance.now();
  const answer = await fetch(`${service.url}/v1/transcribe`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: writeWav(whole, SAMPLE_RATE_HZ),
  });
  if (!answer.ok) throw new Error(`/v1/transcribe answered ${answer.status}: ${await answer.text()}`);
  const { text } = (await answer.json()) as { readonly text: string };
  const audioSeconds = whole.length / SAMPLE_RATE_HZ;
  const wallSeconds = (performance.now() - startedAtMs) / 1_000;
  return {
    audioSeconds,
    realTimeFactor: wallSeconds / audioSeconds,
    cpuPerAudioSecond: (service.cpuSeconds() - cpuBefore) / audioSeconds,
    charactersPerSecond: text.length / audioSeconds,
  };
}

function keepsUp(round: LiveRound, p95Ms: number): boolean {
  const latency = percentiles(round.finalLatenciesMs);
  return round.missedFinals === 0 && latency !== null && latency.p95 <= p95Ms;
}

function summary(round: LiveRound) {
  return {
    sessions: round.sessions,
    finalLatencyMs: percentiles(round.finalLatenciesMs),
    firstPartialMs: percentiles(round.firstPartialsMs),
    partialLagMs: percentiles(round.partialLagsMs),
    partials: round.partialLagsMs.length,
    missedFinals: round.missedFinals,
    cpuPerAudioSecond: round.cpuSeconds / round.audioSeconds,
    coresUsed: round.cpuSeconds / round.wallSeconds,
    workerBusyShare: round.workerBusySeconds / round.wallSeconds,
    workerRunShare: round.workerRunSeconds / round.wallSeconds,
    residentBytes: round.residentBytes,
    rawFinalLatenciesMs: round.finalLatenciesMs.map(Math.round),
  };
}

async function measureSpeaking(service: ServiceProcess, model: string, smoke: boolean) {
  const figures = [];
  for (const [length, text] of Object.entries(TEXTS).slice(0, smoke ? 1 : undefined)) {
    const runs: SpeechRun[] = [];
    const cpuBefore = service.cpuSeconds();
    for (let time = 0; time < (smoke ? 1 : SPOKEN_TIMES); time++) {
      runs.push(await streamPcm(service, { input: text, model }));
    }
    const audioSeconds = runs.reduce((sum, run) => sum + run.audioSeconds, 0);
    const figure = {
      length,
      audioSeconds: median(runs.map((run) => run.audioSeconds)),
      firstAudioMs: median(runs.map((run) => run.firstAudioMs)),
      realTimeFactor: median(runs.map((run) => run.totalMs / 1_000 / run.audioSeconds)),
      cpuPerAudioSecond: (service.cpuSeconds() - cpuBefore) / audioSeconds,
      /** Underruns of a player that starts with the first samples. */
      underruns: median(runs.map((run) => run.underruns)),
      longestGapMs: median(runs.map((run) => run.longestGapMs)),
      rawFirstAudioMs: runs.map((run) => Math.round(run.firstAudioMs)),
    };
    figures.push(figure);
  }
  return figures;
}

function print(figures: PackageFigures): void {
  const { id, way, weightsBytes, bound, chunks, load, service, file, live, speech } = figures;
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  console.log(
    `${id}, ${way}: ${megabytes(weightsBytes)}, loaded in ${(load.loadMs / 1_000).toFixed(1)} s with a peak of ` +
      `${load.peakOfWeights?.toFixed(2)} times that; the service has ${megabytes(service.readyBytes)}, ` +
      `${megabytes(service.workedBytes)} after work`,
  );
  if (bound !== null)
    console.log(
      `at least ${billions(bound.operationsPerAudioSecond)} operations for a second of speech, of ` +
        `${billions(bound.operationsPerSecond)} a second: ${bound.speakersPerCore.toFixed(1)} speakers a core`,
    );
  if (chunks !== null) console.log(showChunkCosts(chunks));
  if (file !== undefined) console.log(`files: real-time factor ${file.realTimeFactor.toFixed(3)}`);
  if (live !== undefined)
    console.log(`live: ${live.sessions.join(" and ")} sessions within ${REACHES_P95_MS.join(" and ")} ms`);
  for (const figure of speech ?? []) {
    const { length, audioSeconds, firstAudioMs, realTimeFactor, underruns, longestGapMs } = figure;
    console.log(
      `speech: ${length}, ${audioSeconds.toFixed(1)} s, first audio ${Math.round(firstAudioMs)} ms, ` +
        `${underruns} underruns of at most ${Math.round(longestGapMs)} ms, ` +
        `real-time factor ${realTimeFactor.toFixed(2)}`,
    );
  }
}

/** Renders the tables for docs/models.md. */
function tables(families: readonly PackageFigures[]): string {
  const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2);
  const heard = families.flatMap(({ id, way, weightsBytes, load, service, file, live }) => {
    const [alone, longAlone] = [live?.rounds[0], live?.long[0]];
    if (file === undefined || live === undefined || alone === undefined) return [];
    return [
      [
        `${id}, ${way}`,
        `${gigabytes(weightsBytes)} GB`,
        `${(load.loadMs / 1_000).toFixed(1)} s`,
        `${load.peakOfWeights?.toFixed(2)}`,
        `${gigabytes(service.workedBytes)} GB`,
        file.cpuPerAudioSecond.toFixed(3),
        alone.cpuPerAudioSecond.toFixed(2),
        `${alone.finalLatencyMs?.p50} / ${alone.finalLatencyMs?.p95} ms`,
        `${longAlone?.finalLatencyMs?.p50} / ${longAlone?.finalLatencyMs?.p95} ms`,
        live.sessions.join(" / "),
      ],
    ];
  });
  const spoken = families.flatMap(({ id, speech = [] }) =>
    speech.map((figure) => [
      id,
      `${figure.length}, ${figure.audioSeconds.toFixed(1)} s`,
      `${Math.round(figure.firstAudioMs)} ms`,
      `${figure.underruns}, ${Math.round(figure.longestGapMs)} ms`,
      figure.realTimeFactor.toFixed(2),
      figure.cpuPerAudioSecond.toFixed(2),
    ]),
  );
  const listening = [
    "shape",
    "files",
    "load",
    "peak / files",
    "service",
    "CPU per s of a file",
    "CPU per s live",
  ];
  return [
    table([...listening, "final after speech, p50 / p95", "of long ones", "sessions in 1 / 2 s"], heard),
    table(["shape", "text", "first audio", "underruns, longest", "real-time factor", "CPU per s"], spoken),
  ].join("\n\n");
}

function printRound(round: LiveRound): void {
  const { sessions, finalLatencyMs, firstPartialMs, cpuPerAudioSecond, missedFinals } = summary(round);
  console.log(
    `${String(sessions).padStart(4)} sessions (p50/p95/p99): ${showPercentiles("end of speech to final", finalLatencyMs)}, ` +
      `${showPercentiles("onset to first partial", firstPartialMs)}, CPU per audio second ` +
      `${cpuPerAudioSecond.toFixed(3)}, missed finals ${missedFinals}`,
  );
}
