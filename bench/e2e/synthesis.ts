import { normalizeKazakh } from "../../core/domain/text/kazakh/normalize.js";
import type { BenchOptions } from "../bench-options.js";
import { MODELS } from "../evaluate/paths.js";
import { saveResult } from "../save-result.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { type SpeechRun, streamPcm, streamSentences } from "../support/speech-client.js";
import {
  describe,
  type Order,
  type Pass,
  percentile,
  pooledThroughput,
  printEngine,
  printPooled,
  printRound,
  type Round,
  summary,
} from "../support/synthesis-figures.js";
import { bareSpeaker, type FirstChunkMs, measureEngine, median } from "../support/synthesis-floor.js";

const MODEL = `${MODELS}svc-kk-v1`;
const SENTENCES = [
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];
/** Unusual texts, where errors are most likely. */
const SHORT_TEXTS = ["Сәлем", "А", "7"];
const LONG_TEXT_CHARACTERS = 5_000;
/**
 * A word, a short sentence and one of nine seconds: the time to first sound must not depend on the length.
 */
const FIRST_SOUND_TEXTS = [
  "Сәлем!",
  "Біз ертең көлге барамыз.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады, кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
];
/** Number of simultaneous streams in a burst. */
const BURST_STREAMS = 8;
/** Number of a service's first bursts, which are reported separately. */
const FIRST_BURSTS = 2;
const BURSTS = 8;
const NFE = 16;
/** Load up to which no underruns may occur. */
const UNDERRUN_LOAD = 0.7;
const UNDERRUN_STREAMS = 8;

/** Order of the passes, mirrored to cancel drift in the machine's speed. */
const PASSES: readonly Order[] = ["shared", "serial", "serial", "shared"];

/**
 * `npm run bench -- synthesis [1 2 4 8 16]`: first audio and real-time factor of concurrent streams that
 * share runs, compared with the same service serving them one by one; the engine's overhead over the model;
 * first sound in chunks compared with the bare model; underruns; short and long texts. `SYNTHESIS_ROWS`
 * applies to the service and the engine. Takes about fifteen minutes on two quiet cores. With the argument
 * `first` it measures only first sound and underruns, in three minutes, saved as `first-sound`;
 * `SYNTHESIS_WORKERS` (default 1) applies to that service.
 */
export async function run(options: BenchOptions): Promise<void> {
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
    const paced = await measureUnderruns(service, smoke, "sentences");
    const heard = await measureHeard(service, smoke);
    const extremes = await measureExtremes(service, smoke);
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

/** Returns a text of `count` sentences that differs between streams. */
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

/** Times of one sentence from an idle service, alternating with the bare model. */
interface IdleFigures {
  readonly nfe: number;
  readonly firstAudioMs: readonly number[];
  /** Times of the whole piece on the bare model. */
  readonly bareMs: readonly number[];
  /** Ratio of medians: first audio of a stream to the bare model's piece. */
  readonly ratio: number;
  /** First audio with `pcm`, which starts within a sentence; only for the API's default of 32 steps. */
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
    const ratio = median(firstAudioMs) / median(bareMs);
    figures.push({ nfe, firstAudioMs, bareMs, ratio, pcmFirstAudioMs });
    console.log(
      `idle, one sentence, nfe ${nfe}: first audio ${Math.round(median(firstAudioMs))} ms, bare model ` +
        `${Math.round(median(bareMs))} ms, ratio ${ratio.toFixed(2)}` +
        (pcmFirstAudioMs.length > 0 ? `; pcm ${Math.round(median(pcmFirstAudioMs))} ms` : ""),
    );
  }
  await bare.release();
  return figures;
}

async function measureExtremes(service: ServiceProcess, smoke: boolean) {
  const extremes = [];
  for (const text of smoke ? SHORT_TEXTS.slice(0, 1) : [...SHORT_TEXTS, longText()]) {
    const speech = await streamSentences(service, { text, nfe: 16 });
    extremes.push({ characters: text.length, ...speech });
    console.log(`${text.length} characters: ${describe(speech)}`);
  }
  return extremes;
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

/** Measures streams of chunks: first sound alone and in a burst, and underruns. */
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
  const burst = await measureBurst(service, smoke ? 2 : BURST_STREAMS, smoke ? 1 : FIRST_BURSTS + BURSTS);
  const print = (name: string, { p50, p95 }: { p50: number; p95: number }) =>
    console.log(`${burst.streams} simultaneous streams, ${name}: first sound ${p50}/${p95} ms (p50/p95)`);
  if (burst.firstCrowdsMs !== null) print(`the first ${FIRST_BURSTS} times`, burst.firstCrowdsMs);
  print("later", burst.firstSoundMs);
  return { firstSound, crowd: burst, chunked: await measureUnderruns(service, smoke, "chunks") };
}

/** First sound of a stream in chunks from an idle service, alternating with the bare model. */
interface FirstSound {
  readonly text: string;
  readonly firstSoundMs: readonly number[];
  readonly bareMs: readonly FirstChunkMs[];
  /** Ratio of medians: first sound to the bare model's runs up to it. */
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
      // Use a new seed each time, to miss the cache.
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
 * Requests simultaneous streams of chunks, repeatedly. During a service's first bursts, code is cold and
 * connections are new on both sides, so these bursts are reported separately.
 */
async function measureBurst(service: ServiceProcess, streams: number, repeats: number) {
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
  const first = Math.min(FIRST_BURSTS, repeats - 1);
  return {
    streams,
    firstSoundMs: heardIn(rounds.slice(first)),
    firstCrowdsMs: first === 0 ? null : heardIn(rounds.slice(0, first)),
    rounds,
  };
}

/** Measures underruns with streams paced for the wanted load. */
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
