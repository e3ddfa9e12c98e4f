import { existsSync } from "node:fs";
import { copyFile, link, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { writeWav } from "../../core/domain/audio/wav.js";
import { findPackages, readManifest } from "../../native/models/find-packages.js";
import type { PackageFolder } from "../../native/models/package.js";
import { packageFiles } from "../../native/models/package-files.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { freePort } from "../support/free-port.js";
import { type LiveRound, runLiveRound } from "../support/live-round.js";
import { measureLoad } from "../support/load-figures.js";
import { percentiles, showPercentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { type SpeechRun, streamPcm } from "../support/speech-client.js";
import { SAMPLE_RATE_HZ, SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";
import { median } from "../support/synthesis-floor.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Folder where the recipe writes packages with real shapes. */
const TRUE_SHAPES = join(ROOT, ".cache/true-shapes");
const RECIPE = "python3 models/recipes/adapters/true_shapes";
const TINY = join(ROOT, "test/fixtures/adapters");
/** A smoke run tries both packages in one service. */
const SMOKE_PACKAGE = "tiny-gigaam-ctc";
const SMOKE_BESIDE = join(TINY, "tiny-vits");
/** The service needs a package for each task; this one complements the tested package. */
const BESIDE = {
  transcription: join(ROOT, "models/svc-kk-v1"),
  synthesis: join(ROOT, "models/svc-kk-ru-v2"),
  punctuation: join(ROOT, "models/svc-kk-ru-v2"),
  diarization: join(ROOT, "models/svc-kk-ru-v2"),
};
/**
 * From the true end of speech. A conformer with 220 million parameters reads 4 s of speech in 0.8 s of one
 * core, after 0.1 s of silence.
 */
const REACH_P95_MS = 2_000;
const COUNTS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
const FILE_SECONDS = 60;
/** Utterance for measuring memory: the longest that GigaAM accepts. */
const UTTERANCE_SECONDS = 25;
const TEXTS = {
  word: "Сәлем",
  sentence: "Бүгін ауа райы жақсы болады.",
  "nine seconds":
    "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады, ал кешке қарай жел күшейіп, күн салқындайды деп күтіледі.",
} as const;
const SPOKEN_TIMES = 3;

/**
 * `npm run bench -- families [FOLDER]`: the cost of packages with real weights, each alone in a new service
 * with one worker per kind and one thread per graph: load, memory, files, live sessions until p95 of finals
 * exceeds two seconds, first audio. FOLDER contains packages; those of the recipe
 * `models/recipes/adapters/true_shapes` by default.
 */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const { smoke } = options;
  const folder = smoke ? TINY : resolve(options.args[0] ?? TRUE_SHAPES);
  if (!existsSync(folder))
    throw new Error(`${folder} is not there: make it by \`${RECIPE} --out ${folder}\``);
  const packages = (await findPackages(folder)).filter(
    ({ manifest }) => !smoke || manifest.id === SMOKE_PACKAGE,
  );
  if (packages.length === 0)
    throw new Error(`${folder} holds no packages: make some by \`${RECIPE} --out ${folder}\``);
  const families: PackageFigures[] = [];
  const loadBefore = loadavg()[0];
  for (const found of packages) {
    const figures = await measurePackage(found, smoke);
    families.push(figures);
    print(figures);
  }
  if (smoke) return;
  const parameters = {
    reachP95Ms: REACH_P95_MS,
    fileSeconds: FILE_SECONDS,
    utteranceSeconds: UTTERANCE_SECONDS,
    sentences: SENTENCES,
    texts: TEXTS,
    /** Load average over one minute, before and after: other work on the two cores. */
    loadAverages: [loadBefore, loadavg()[0]],
  };
  console.log(tables(families));
  console.log(await saveResult("families", { parameters, families }));
}

type PackageFigures = Awaited<ReturnType<typeof measurePackage>>;

async function measurePackage(found: PackageFolder, smoke: boolean) {
  const { folder, manifest } = found;
  const weightsBytes = await graphBytes(found);
  const load = await measureLoad(folder, smoke ? 1 : UTTERANCE_SECONDS);
  const of = (bytes: number | null) => (bytes === null ? null : (bytes - load.beforeBytes) / weightsBytes);
  const models = await mkdtemp(join(tmpdir(), "dauys-families-"));
  const operatorPort = await freePort();
  try {
    await putPackage(folder, join(models, manifest.id));
    await putPackage(smoke ? SMOKE_BESIDE : BESIDE[manifest.task], join(models, "beside"));
    const service = await startServiceProcess({
      MODELS_DIR: models,
      OPERATOR_PORT: String(operatorPort),
      ...{ LIVE_WORKERS: "1", FILE_WORKERS: "1", SYNTHESIS_WORKERS: "1", ORT_THREADS: "1" },
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
        weightsBytes,
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

/** Hard links if the file system supports them: copies would fill the page cache twice. */
async function putPackage(from: string, to: string): Promise<void> {
  const manifest = await readManifest(from);
  const paths = ["manifest.json", ...packageFiles(manifest?.files ?? {}).map(({ path }) => path)];
  for (const path of new Set(paths)) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await link(join(from, path), join(to, path)).catch(() => copyFile(join(from, path), join(to, path)));
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
    if (!keepsUp(round)) break;
  }
  const reached = rounds.filter(keepsUp).at(-1)?.sessions ?? 0;
  return { file, live: { reachP95Ms: REACH_P95_MS, sessions: reached, rounds: rounds.map(summary) } };
}

/** The stream repeated, as one file. */
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

function keepsUp(round: LiveRound): boolean {
  const latency = percentiles(round.finalLatenciesMs);
  return round.missedFinals === 0 && latency !== null && latency.p95 <= REACH_P95_MS;
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
      rawFirstAudioMs: runs.map((run) => Math.round(run.firstAudioMs)),
    };
    figures.push(figure);
  }
  return figures;
}

function print({ id, weightsBytes, load, service, file, live, speech }: PackageFigures): void {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  console.log(
    `${id}: ${megabytes(weightsBytes)}, loaded in ${(load.loadMs / 1_000).toFixed(1)} s with a peak of ` +
      `${load.peakOfWeights?.toFixed(2)} times that; the service has ${megabytes(service.readyBytes)}, ` +
      `${megabytes(service.workedBytes)} after work`,
  );
  if (file !== undefined) console.log(`files: real-time factor ${file.realTimeFactor.toFixed(3)}`);
  if (live !== undefined) console.log(`live: ${live.sessions} sessions within ${live.reachP95Ms} ms at p95`);
  for (const { length, audioSeconds, firstAudioMs, realTimeFactor } of speech ?? []) {
    console.log(
      `speech: ${length}, ${audioSeconds.toFixed(1)} s, first audio ${Math.round(firstAudioMs)} ms, ` +
        `real-time factor ${realTimeFactor.toFixed(2)}`,
    );
  }
}

/** For docs/models.md. */
function tables(families: readonly PackageFigures[]): string {
  const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2);
  const heard = families.flatMap(({ id, weightsBytes, load, service, file, live }) => {
    const alone = live?.rounds[0];
    if (file === undefined || live === undefined || alone === undefined) return [];
    return [
      [
        id,
        `${gigabytes(weightsBytes)} GB`,
        `${(load.loadMs / 1_000).toFixed(1)} s`,
        `${load.peakOfWeights?.toFixed(2)}`,
        `${gigabytes(service.workedBytes)} GB`,
        file.cpuPerAudioSecond.toFixed(3),
        alone.cpuPerAudioSecond.toFixed(2),
        `${alone.finalLatencyMs?.p50} / ${alone.finalLatencyMs?.p95} ms`,
        String(live.sessions),
      ],
    ];
  });
  const spoken = families.flatMap(({ id, speech = [] }) =>
    speech.map(({ length, audioSeconds, firstAudioMs, realTimeFactor, cpuPerAudioSecond }) => [
      id,
      `${length}, ${audioSeconds.toFixed(1)} s`,
      `${Math.round(firstAudioMs)} ms`,
      realTimeFactor.toFixed(2),
      cpuPerAudioSecond.toFixed(2),
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
    table([...listening, "final after speech, p50 / p95", "sessions"], heard),
    table(["shape", "text", "first audio", "real-time factor", "CPU per s"], spoken),
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
