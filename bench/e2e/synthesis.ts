import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";
import { MODELS } from "../evaluate/paths.js";
import { saveResult } from "../save-result.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { type SpeechRun, streamPcm, streamSentences } from "../support/speech-client.js";
import {
  bareSpeaker,
  type EngineFigures,
  type FirstChunkMs,
  measureEngine,
  median,
} from "../support/synthesis-floor.js";

const MODEL = `${MODELS}svc-kk-v1`;
const SENTENCES = [
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];
/** What people send least often and what goes wrong first. */
const SHORT_TEXTS = ["Сәлем", "А", "7"];
const LONG_TEXT_CHARACTERS = 5_000;
/** What is heard of a piece at once must not depend on its length: a word, a short sentence, one of nine seconds. */
const FIRST_SOUND_TEXTS = [
  "Сәлем!",
  "Біз ертең көлге барамыз.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады, кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
];
/** Streams that are asked for at once. */
const CROWD = 8;
/** Times that they are asked for, first those whose figures stand apart. */
const FIRST_CROWDS = 2;
const CROWDS = 8;
const NFE = 16;
/** Load below which no listener may run dry. */
const UNDERRUN_LOAD = 0.7;
const UNDERRUN_STREAMS = 8;

/** Concurrent requests: sent at once to be shared, or one after another by a client who asked at the same time. */
interface Pass {
  readonly runs: readonly SpeechRun[];
  readonly wallMs: number;
  /** CPU time of the whole service. */
  readonly cpuMs: number;
}

interface Round {
  readonly nfe: number;
  readonly streams: number;
  readonly shared: readonly Pass[];
  readonly serial: readonly Pass[];
}

type Order = "shared" | "serial";
/** A machine that becomes faster or slower meanwhile favours neither. */
const PASSES: readonly Order[] = ["shared", "serial", "serial", "shared"];

/**
 * `npm run bench -- synthesis [1 2 4 8 16]`: first audio and real-time factor of concurrent streams, shared step by step
 * against the same service serving them one after another; what the engine adds to the model; first sound in chunks beside
 * the bare model; underruns; short and long texts. `SYNTHESIS_ROWS` reaches the service and the engine. All of it takes about
 * fifteen minutes on two quiet cores. With `first` among the arguments it measures what is heard first, and underruns, alone:
 * three minutes, into `first-sound`; `SYNTHESIS_WORKERS` reaches that service (1).
 */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const { smoke } = options;
  if (options.args.includes("first")) return measureFirst(smoke);
  const counts = smoke ? [2] : streamCounts(options.args);
  const rows = Number(process.env["SYNTHESIS_ROWS"] ?? 1);
  const engine = await measureEngine({
    modelFolder: MODEL,
    rows,
    texts: [...SENTENCES, ...SENTENCES]
      .slice(0, smoke ? 2 : 8)
      .map((text) => normalizeKazakh(text, { expand: true }).spoken),
    nfe: smoke ? 4 : 16,
    rounds: smoke ? 1 : 3,
    cancels: smoke ? 2 : 20,
  });
  printEngine(engine);
  const service = await startServiceProcess({ SYNTHESIS_PER_ORG: "1000" });
  try {
    await creditDevelopment(service, 1_000_000_000);
    await streamSentences(service, { text: SENTENCES[0]!, nfe: 4 });
    const rounds: Round[] = [];
    for (const nfe of smoke ? [4] : [16, 32]) {
      for (const streams of counts) {
        const round = await measureRound(service, { nfe, streams, sentences: smoke ? 1 : 3 });
        rounds.push(round);
        printRound(round);
      }
    }
    const sharing = pooledThroughput(rounds);
    printPooled(sharing);
    const idle = await measureIdle(service, smoke ? 1 : 10, smoke ? [4] : [16, 32]);
    for (const { nfe, firstAudioMs, bareMs, ratio, pcmFirstAudioMs } of idle) {
      console.log(
        `idle, one sentence, nfe ${nfe}: first audio ${Math.round(median(firstAudioMs))} ms, bare model ` +
          `${Math.round(median(bareMs))} ms, ratio ${ratio.toFixed(2)}` +
          (pcmFirstAudioMs.length > 0 ? `; pcm ${Math.round(median(pcmFirstAudioMs))} ms` : ""),
      );
    }
    const paced = await measureUnderruns(service, smoke, "sentences");
    const heard = await measureHeard(service, smoke);
    const texts = smoke ? SHORT_TEXTS.slice(0, 1) : [...SHORT_TEXTS, longText()];
    const extremes = [];
    for (const text of texts) {
      const speech = await streamSentences(service, { text, nfe: 16 });
      extremes.push({ characters: text.length, ...speech });
      console.log(`${text.length} characters: ${describe(speech)}`);
    }
    if (!smoke) {
      const parameters = { sentences: SENTENCES, rows, underrunLoad: UNDERRUN_LOAD };
      await saveResult("synthesis", {
        parameters,
        engine,
        sharing,
        rounds: rounds.map((round) => ({ ...summary(round), raw: round })),
        idle,
        paced,
        ...heard,
        extremes,
      });
    }
  } finally {
    await service.stop();
  }
}

function streamCounts(args: readonly string[]): number[] {
  const given = args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  return given.length > 0 ? given : [1, 2, 4, 8, 16];
}

/** A text of `count` sentences that differs from stream to stream. */
function textOf(stream: number, count: number): string {
  return Array.from({ length: count }, (_, i) => SENTENCES[(stream + i) % SENTENCES.length]).join(" ");
}

function longText(): string {
  let text = "";
  for (let i = 0; text.length < LONG_TEXT_CHARACTERS; i++) text += `${SENTENCES[i % SENTENCES.length]} `;
  return text.slice(0, LONG_TEXT_CHARACTERS);
}

async function measureRound(
  service: ServiceProcess,
  round: { readonly nfe: number; readonly streams: number; readonly sentences: number },
): Promise<Round> {
  const { nfe, streams, sentences } = round;
  const texts = Array.from({ length: streams }, (_, stream) => textOf(stream, sentences));
  const passes: Record<Order, Pass[]> = { shared: [], serial: [] };
  for (const order of PASSES) passes[order].push(await measurePass(service, { texts, nfe, order }));
  return { nfe, streams, ...passes };
}

async function measurePass(
  service: ServiceProcess,
  { texts, nfe, order }: { readonly texts: readonly string[]; readonly nfe: number; readonly order: Order },
): Promise<Pass> {
  const cpuBefore = service.cpuSeconds();
  const askedAtMs = performance.now();
  const speak = (text: string) => streamSentences(service, { text, nfe }, { askedAtMs });
  const runs: SpeechRun[] = [];
  if (order === "shared") runs.push(...(await Promise.all(texts.map(speak))));
  else for (const text of texts) runs.push(await speak(text));
  const wallMs = performance.now() - askedAtMs;
  return { runs, wallMs, cpuMs: 1_000 * (service.cpuSeconds() - cpuBefore) };
}

/** One sentence to an idle service, in turn with the bare model, in milliseconds. */
interface IdleFigures {
  readonly nfe: number;
  readonly firstAudioMs: readonly number[];
  /** The whole piece by the bare model. */
  readonly bareMs: readonly number[];
  /** Medians: first audio of a stream / the bare model's piece. */
  readonly ratio: number;
  /** Of `pcm`, which is sent inside of a sentence; only at the interface's default of 32 steps. */
  readonly pcmFirstAudioMs: readonly number[];
}

async function measureIdle(
  service: ServiceProcess,
  rounds: number,
  steps: readonly number[],
): Promise<IdleFigures[]> {
  const bare = await bareSpeaker(MODEL);
  const [text] = SENTENCES as [string];
  const { spoken } = normalizeKazakh(text, { expand: true });
  const figures: IdleFigures[] = [];
  for (const nfe of steps) {
    const [firstAudioMs, bareMs, pcmFirstAudioMs]: [number[], number[], number[]] = [[], [], []];
    await bare.speakMs(spoken, nfe);
    for (let i = 0; i < rounds; i++) {
      firstAudioMs.push((await streamSentences(service, { text, nfe })).firstAudioMs);
      bareMs.push(await bare.speakMs(spoken, nfe));
      if (nfe === 32) pcmFirstAudioMs.push((await streamPcm(service, { input: text })).firstAudioMs);
    }
    figures.push({
      nfe,
      firstAudioMs,
      bareMs,
      ratio: median(firstAudioMs) / median(bareMs),
      pcmFirstAudioMs,
    });
  }
  await bare.release();
  return figures;
}

async function measureFirst(smoke: boolean): Promise<void> {
  const workers = process.env["SYNTHESIS_WORKERS"] ?? "1";
  const service = await startServiceProcess({ SYNTHESIS_PER_ORG: "1000", SYNTHESIS_WORKERS: workers });
  try {
    await creditDevelopment(service, 1_000_000_000);
    await streamSentences(service, { text: SENTENCES[0]!, nfe: 4 });
    const heard = await measureHeard(service, smoke);
    if (!smoke)
      await saveResult("first-sound", { parameters: { nfe: NFE, load: UNDERRUN_LOAD, workers }, ...heard });
  } finally {
    await service.stop();
  }
}

/** What listeners of chunks hear: the first sound alone and in a crowd, and gaps. */
async function measureHeard(service: ServiceProcess, smoke: boolean) {
  const firstSound = await measureFirstSound(service, smoke ? 1 : 15);
  for (const { text, firstSoundMs, bareMs, ratio } of firstSound) {
    const { beginMs, stepsMs, vocodeMs } = bareMs[bareMs.length >> 1]!;
    console.log(
      `first sound of ${text.length} characters, idle: ${Math.round(median(firstSoundMs))} ms, ` +
        `bare model ${median(bareMs.map(({ totalMs }) => totalMs)).toFixed(0)} ms ` +
        `(${beginMs.toFixed(0)} + ${stepsMs.toFixed(0)} + ${vocodeMs.toFixed(0)}), ratio ${ratio.toFixed(2)}`,
    );
  }
  const crowd = await measureCrowd(service, smoke ? 2 : CROWD, smoke ? 1 : FIRST_CROWDS + CROWDS);
  const told = (name: string, { p50, p95 }: { p50: number; p95: number }) =>
    console.log(`${crowd.streams} streams at once, ${name}: first sound ${p50}/${p95} ms (p50/p95)`);
  if (crowd.firstCrowdsMs !== null) told(`the first ${FIRST_CROWDS} times`, crowd.firstCrowdsMs);
  told("later", crowd.firstSoundMs);
  return { firstSound, crowd, chunked: await measureUnderruns(service, smoke, "chunks") };
}

/** The first sound of a stream of chunks from an idle service, in turn with the bare model, in milliseconds. */
interface FirstSound {
  readonly text: string;
  readonly firstSoundMs: readonly number[];
  readonly bareMs: readonly FirstChunkMs[];
  /** Medians: first sound / the bare model's runs before it. */
  readonly ratio: number;
}

async function measureFirstSound(service: ServiceProcess, rounds: number): Promise<FirstSound[]> {
  const bare = await bareSpeaker(MODEL);
  const figures: FirstSound[] = [];
  for (const text of FIRST_SOUND_TEXTS) {
    const { spoken } = normalizeKazakh(text, { expand: true });
    const [firstSoundMs, bareMs]: [number[], FirstChunkMs[]] = [[], []];
    await bare.firstChunkMs(spoken, NFE);
    for (let seed = 0; seed < rounds; seed++) {
      // Another seed each time: what the cache holds is heard at once.
      const run = await streamSentences(service, { text, nfe: NFE, seed }, { frames: "chunks" });
      firstSoundMs.push(run.firstSoundMs);
      bareMs.push(await bare.firstChunkMs(spoken, NFE));
    }
    const ratio = median(firstSoundMs) / median(bareMs.map(({ totalMs }) => totalMs));
    figures.push({ text, firstSoundMs, bareMs, ratio });
  }
  await bare.release();
  return figures;
}

/**
 * Streams of chunks that are asked for in one moment, again and again. The first crowds that a service ever has meet code that
 * runs for the first time, on both sides, and connections that are opened: they are told apart.
 */
async function measureCrowd(service: ServiceProcess, streams: number, repeats: number) {
  const rounds: SpeechRun[][] = [];
  for (let seed = 0; seed < repeats; seed++) {
    const askedAtMs = performance.now();
    const speak = (_: unknown, stream: number) =>
      streamSentences(service, { text: textOf(stream, 2), nfe: NFE, seed }, { askedAtMs, frames: "chunks" });
    rounds.push(await Promise.all(Array.from({ length: streams }, speak)));
  }
  const heardIn = (some: readonly (readonly SpeechRun[])[]) => {
    const times = some.flat().map(({ firstSoundMs }) => firstSoundMs);
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  };
  const first = Math.min(FIRST_CROWDS, repeats - 1);
  return {
    streams,
    firstSoundMs: heardIn(rounds.slice(first)),
    firstCrowdsMs: first === 0 ? null : heardIn(rounds.slice(0, first)),
    rounds,
  };
}

/** Streams that begin again as often as keeps the workers busy for the wanted share of the time. */
async function measureUnderruns(service: ServiceProcess, smoke: boolean, frames: "sentences" | "chunks") {
  const [streams, repeats] = smoke ? [2, 1] : [UNDERRUN_STREAMS, 4];
  const speak = (index: number, seed: number) =>
    streamSentences(service, { text: textOf(index, 3), nfe: NFE, seed }, { frames });
  const fullSinceMs = performance.now();
  await Promise.all(Array.from({ length: streams }, (_, index) => speak(index, 1)));
  const alltogetherMs = performance.now() - fullSinceMs;
  const periodMs = alltogetherMs / UNDERRUN_LOAD;
  const startedAtMs = performance.now();
  const runs = await Promise.all(
    Array.from({ length: streams * repeats }, async (_, index) => {
      const beginsAtMs = (index * periodMs) / streams;
      await new Promise((resolve) => setTimeout(resolve, beginsAtMs));
      return speak(index, 2 + index);
    }),
  );
  const load = (repeats * alltogetherMs) / (performance.now() - startedAtMs);
  const dry = runs.filter(({ underruns }) => underruns > 0).length;
  console.log(`${runs.length} paced requests in ${frames} at load ${load.toFixed(2)}: ${dry} with underruns`);
  return { frames, streams, periodMs, load, runs };
}

function summary({ nfe, streams, shared, serial }: Round) {
  const firstAudio = (passes: readonly Pass[]) => {
    const times = passes.flatMap(({ runs }) => runs.map(({ firstAudioMs }) => firstAudioMs));
    return { p50: percentile(times, 0.5), p95: percentile(times, 0.95) };
  };
  const totalOf = (passes: readonly Pass[]) => ({
    audioMs: sumOf(passes.flatMap(({ runs }) => runs.map(({ audioSeconds }) => 1_000 * audioSeconds))),
    wallMs: sumOf(passes.map(({ wallMs }) => wallMs)),
    cpuMs: sumOf(passes.map(({ cpuMs }) => cpuMs)),
  });
  const [sharedTotal, serialTotal] = [totalOf(shared), totalOf(serial)];
  return {
    nfe,
    streams,
    sharedFirstAudioMs: firstAudio(shared),
    serialFirstAudioMs: firstAudio(serial),
    sharedRealTimeFactor: sharedTotal.wallMs / sharedTotal.audioMs,
    serialRealTimeFactor: serialTotal.wallMs / serialTotal.audioMs,
    /** Audio per second, shared / serial. */
    throughputRatio: serialTotal.wallMs / sharedTotal.wallMs,
    /** The same in each half of the round: how far the machine can be trusted. */
    throughputRatios: shared.map(({ wallMs }, pass) => serial[pass]!.wallMs / wallMs),
    /** Audio per second of CPU, shared / serial. */
    cpuRatio: serialTotal.cpuMs / sharedTotal.cpuMs,
    /** First audio, shared / serial. */
    firstAudioRatio: {
      p50: firstAudio(shared).p50 / firstAudio(serial).p50,
      p95: firstAudio(shared).p95 / firstAudio(serial).p95,
    },
  };
}

/** Of all rounds with more than one stream. */
interface Pooled {
  /** Geometric mean of audio per second, shared / serial, of pairs of passes, and where it lies 19 times of 20. */
  readonly throughputRatio: Estimate;
  /** The same of audio per second of CPU, to which other work on the machine does less. */
  readonly cpuRatio: Estimate;
  readonly pairs: number;
}

interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

function pooledThroughput(rounds: readonly Round[]): Pooled {
  const pairs = rounds
    .filter(({ streams }) => streams > 1)
    .flatMap(({ shared, serial }) => shared.map((pass, nth) => ({ shared: pass, serial: serial[nth]! })));
  return {
    throughputRatio: geometricMean(pairs.map(({ shared, serial }) => serial.wallMs / shared.wallMs)),
    cpuRatio: geometricMean(pairs.map(({ shared, serial }) => serial.cpuMs / shared.cpuMs)),
    pairs: pairs.length,
  };
}

/** With two standard errors of the logarithms on each side. */
function geometricMean(ratios: readonly number[]): Estimate {
  const logs = ratios.map(Math.log);
  const mean = sumOf(logs) / logs.length;
  const variance = sumOf(logs.map((log) => (log - mean) ** 2)) / (logs.length - 1);
  const margin = 2 * Math.sqrt(variance / logs.length);
  return { mean: Math.exp(mean), low: Math.exp(mean - margin), high: Math.exp(mean + margin) };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN);
}

function describe({ firstAudioMs, audioSeconds, totalMs }: SpeechRun): string {
  const factor = totalMs / 1_000 / audioSeconds;
  return `first audio ${Math.round(firstAudioMs)} ms, ${audioSeconds.toFixed(1)} s of audio, RTF ${factor.toFixed(2)}`;
}

function printEngine({ busyShare, floorShare, runsAfterCancel }: EngineFigures): void {
  console.log(
    `worker inside the runtime ${(100 * busyShare).toFixed(1)} % of its time, bare model ${floorShare.toFixed(3)} of ` +
      `the engine's time; at most ${Math.max(...runsAfterCancel)} model runs after a cancel`,
  );
}

function printPooled({ throughputRatio, cpuRatio, pairs }: Pooled): void {
  const shown = ({ mean, low, high }: Estimate) =>
    `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
  console.log(
    `sharing against one after another, ${pairs} pairs of passes: throughput ${shown(throughputRatio)}, of CPU ${shown(cpuRatio)}`,
  );
}

function printRound(round: Round): void {
  const { sharedFirstAudioMs, serialFirstAudioMs, ...rest } = summary(round);
  console.log(
    `${String(rest.streams).padStart(3)} streams, nfe ${rest.nfe}: first audio ` +
      `${sharedFirstAudioMs.p50}/${sharedFirstAudioMs.p95} ms shared, ` +
      `${serialFirstAudioMs.p50}/${serialFirstAudioMs.p95} ms one after another (p50/p95); ` +
      `RTF ${rest.sharedRealTimeFactor.toFixed(3)}, throughput ratio ${rest.throughputRatio.toFixed(2)} ` +
      `(${rest.throughputRatios.map((ratio) => ratio.toFixed(2)).join(", ")}; of CPU time ${rest.cpuRatio.toFixed(2)}), ` +
      `first audio ratio ${rest.firstAudioRatio.p50.toFixed(2)}/${rest.firstAudioRatio.p95.toFixed(2)}`,
  );
}
