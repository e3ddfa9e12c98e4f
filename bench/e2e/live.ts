import { toInt16 } from "../../src/domain/audio/pcm.js";
import { resample } from "../../src/domain/audio/resample.js";
import { WavSampleReader } from "../../src/domain/audio/wav-samples.js";
import { saveResult } from "../save-result.js";
import { type LiveRun, runLive } from "../support/live-client.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const SAMPLE_RATE_HZ = 16_000;
/** What clients usually send: 40 ms a message. */
const MESSAGE_SAMPLES = 640;
/** Silence between the sentences of a stream, long enough for the final of each to come by its threshold. */
const GAP_SAMPLES = 16_000;
const LEAD_SAMPLES = 8_000;
/** Samples quieter than this share of the sentence's peak (-40 dB) are not speech. */
const SPEECH_FLOOR = 0.01;

const SENTENCES = [
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Кітапхана сағат тоғызда ашылып, кешке дейін жұмыс істейді.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];

/** A stream of spoken sentences; where each begins and ends is known from the audio itself. */
interface SpokenStream {
  readonly pcm: Int16Array;
  readonly utterances: readonly { readonly onsetSample: number; readonly endSample: number }[];
}

interface Round {
  readonly sessions: number;
  readonly finalLatenciesMs: readonly number[];
  readonly firstPartialsMs: readonly number[];
  readonly partialLagsMs: readonly number[];
  readonly missedFinals: number;
  readonly audioSeconds: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly residentBytes: number;
}

/** `npm run bench -- live`: latency from the true end of speech to the final, for rising numbers of paced sessions. */
export async function run(options: {
  readonly smoke: boolean;
  readonly args: readonly string[];
}): Promise<void> {
  const counts = options.smoke ? [1] : sessionCounts(options.args);
  const service = await startServiceProcess({ LIVE_PER_ORG: "1000" });
  await creditDevelopment(service, 1_000_000_000);
  try {
    const sentences = options.smoke ? SENTENCES.slice(0, 1) : SENTENCES;
    const stream = await speakStream(service, sentences);
    const rounds: Round[] = [];
    for (const sessions of counts) {
      const round = await measure(service, stream, sessions);
      rounds.push(round);
      print(round);
    }
    if (!options.smoke) {
      const parameters = { eouMs: 200, messageSamples: MESSAGE_SAMPLES, sentences, gapSamples: GAP_SAMPLES };
      await saveResult("live", {
        parameters,
        rounds: rounds.map((round) => ({ ...summary(round), raw: round })),
      });
    }
  } finally {
    await service.stop();
  }
}

function sessionCounts(args: readonly string[]): number[] {
  const given = args.map(Number).filter((count) => Number.isInteger(count) && count > 0);
  return given.length > 0 ? given : [1, 8, 32];
}

async function speakStream(service: ServiceProcess, sentences: readonly string[]): Promise<SpokenStream> {
  const parts: Int16Array[] = [new Int16Array(LEAD_SAMPLES)];
  const utterances: { onsetSample: number; endSample: number }[] = [];
  let offset = LEAD_SAMPLES;
  for (const text of sentences) {
    const answer = await fetch(`${service.url}/v1/tts`, {
      method: "POST",
      headers: { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ text, nfe: 16 }),
    });
    if (!answer.ok) throw new Error(`/v1/tts answered ${answer.status}: ${await answer.text()}`);
    const pcm = toSixteenKilohertz(new Uint8Array(await answer.arrayBuffer()));
    const { onset, end } = speechBounds(pcm);
    utterances.push({ onsetSample: offset + onset, endSample: offset + end });
    parts.push(pcm, new Int16Array(GAP_SAMPLES));
    offset += pcm.length + GAP_SAMPLES;
  }
  const whole = new Int16Array(offset);
  let filled = 0;
  for (const part of parts) {
    whole.set(part, filled);
    filled += part.length;
  }
  return { pcm: whole, utterances };
}

function toSixteenKilohertz(wav: Uint8Array): Int16Array {
  const samples = new WavSampleReader(wav.length).push(wav);
  return toInt16(resample(samples, { fromHz: 24_000, toHz: SAMPLE_RATE_HZ }));
}

function speechBounds(pcm: Int16Array): { onset: number; end: number } {
  const peak = pcm.reduce((highest, sample) => Math.max(highest, Math.abs(sample)), 0);
  const isLoud = (sample: number) => Math.abs(sample) > peak * SPEECH_FLOOR;
  return { onset: pcm.findIndex(isLoud), end: pcm.findLastIndex(isLoud) + 1 };
}

async function measure(service: ServiceProcess, stream: SpokenStream, sessions: number): Promise<Round> {
  const cpuBefore = service.cpuSeconds();
  const startedAtMs = performance.now();
  const runs = await Promise.all(
    Array.from({ length: sessions }, async (_, index) => {
      // People do not start to speak at the same moment.
      await new Promise((resolve) => setTimeout(resolve, (index * 2_000) / sessions));
      return runLive({
        url: service.url,
        key: service.key,
        pcm: stream.pcm,
        messageSamples: MESSAGE_SAMPLES,
        isPaced: true,
      });
    }),
  );
  const timed = runs.map((live) => timesOf(live, stream));
  return {
    sessions,
    finalLatenciesMs: timed.flatMap((times) => times.finalLatenciesMs),
    firstPartialsMs: timed.flatMap((times) => times.firstPartialsMs),
    partialLagsMs: timed.flatMap((times) => times.partialLagsMs),
    missedFinals: timed.reduce((total, times) => total + times.missedFinals, 0),
    audioSeconds: (sessions * stream.pcm.length) / SAMPLE_RATE_HZ,
    cpuSeconds: service.cpuSeconds() - cpuBefore,
    wallSeconds: (performance.now() - startedAtMs) / 1_000,
    residentBytes: service.residentBytes(),
  };
}

/** Latencies of one session. An utterance's final is the last one that ends within half a second of its end. */
function timesOf(live: LiveRun, stream: SpokenStream) {
  const wallOf = (sample: number) => live.startedAtMs + (sample / SAMPLE_RATE_HZ) * 1_000;
  const finalLatenciesMs: number[] = [];
  const firstPartialsMs: number[] = [];
  const partialLagsMs: number[] = [];
  let missedFinals = 0;
  for (const { onsetSample, endSample } of stream.utterances) {
    const final = live.received.findLast(
      ({ message }) => message.type === "final" && Math.abs(message.end - endSample / SAMPLE_RATE_HZ) < 0.5,
    );
    if (final === undefined) missedFinals++;
    else finalLatenciesMs.push(final.atMs - wallOf(endSample));
    const partials = live.received.filter(
      ({ message, atMs }) =>
        message.type === "partial" && atMs > wallOf(onsetSample) && atMs < wallOf(endSample + GAP_SAMPLES),
    );
    if (partials[0] !== undefined) firstPartialsMs.push(partials[0].atMs - wallOf(onsetSample));
    for (const { message, atMs } of partials) {
      if (message.type === "partial") partialLagsMs.push(atMs - wallOf(message.end * SAMPLE_RATE_HZ));
    }
  }
  return { finalLatenciesMs, firstPartialsMs, partialLagsMs, missedFinals };
}

function summary(round: Round) {
  return {
    sessions: round.sessions,
    finalLatencyMs: percentiles(round.finalLatenciesMs),
    firstPartialMs: percentiles(round.firstPartialsMs),
    partialLagMs: percentiles(round.partialLagsMs),
    missedFinals: round.missedFinals,
    realTimeFactor: round.cpuSeconds / round.audioSeconds,
    coresUsed: round.cpuSeconds / round.wallSeconds,
    residentMegabytes: Math.round(round.residentBytes / 1e6),
  };
}

function percentiles(values: readonly number[]): { p50: number; p95: number; p99: number } | null {
  if (values.length === 0) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function print(round: Round): void {
  const { finalLatencyMs, firstPartialMs, partialLagMs, realTimeFactor, missedFinals } = summary(round);
  const show = (name: string, value: ReturnType<typeof percentiles>) =>
    value === null ? `${name} none` : `${name} ${value.p50}/${value.p95}/${value.p99} ms`;
  console.log(
    `${String(round.sessions).padStart(4)} sessions: ${show("end of speech to final", finalLatencyMs)}, ` +
      `${show("onset to first partial", firstPartialMs)}, ${show("partial lag", partialLagMs)}, ` +
      `CPU per audio second ${realTimeFactor.toFixed(3)}, missed finals ${missedFinals} (p50/p95/p99)`,
  );
}
