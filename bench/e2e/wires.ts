import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import type { BenchOptions } from "../bench-options.js";
import { table } from "../evaluate/report.js";
import { saveResult } from "../save-result.js";
import { type Delays, delaysOver, LIVE_WIRES, type LiveWire, MESSAGE_MS } from "../support/live-wires.js";
import { type Percentiles, percentiles } from "../support/percentiles.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { speechWires } from "../support/speech-wires.js";
import { GAP_SAMPLES, SENTENCES, type SpokenStream, speakStream } from "../support/spoken-stream.js";

/** Sessions of each wire that speak at the same time, and how often. */
const GROUPS = 4;
const ROUNDS = 8;
/** Between the starts of two sessions. */
const STAGGER_MS = 40;
/** Random part of it: with a fixed one, a wire would always meet the same phase of the worker's rounds. */
const JITTER_MS = 40;
const JITTER_SEED = 1;
const FIRST_ROUND = { groups: 1, round: 0, random: () => 0 };
const SPEECH_ROUNDS = 12;

/** What one wire adds to ours, paired by session or by request. */
interface WireFigure {
  readonly wire: string;
  readonly reference: string | null;
  readonly delayMs: Percentiles | null;
  readonly differenceMs: Percentiles | null;
  readonly missed: number;
  readonly rawDelaysMs: readonly number[];
  readonly rawDifferencesMs: readonly number[];
}

/**
 * `npm run bench -- wires`: finals of every live protocol compared with those of `/v1/stream`, and the first
 * audio of every protocol that speaks compared with that of `/v1/tts/stream`: the same audio and texts,
 * alternating, in one run of one service. Five minutes.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const service = await startServiceProcess({ LIVE_PER_ORG: "1000", MODEL_PRELOAD: "true" });
  try {
    await creditDevelopment(service, 1_000_000_000);
    const sentences = smoke ? SENTENCES.slice(3) : SENTENCES;
    const stream = await speakStream(service, sentences);
    const plan = smoke ? { groups: 1, rounds: 1 } : { groups: GROUPS, rounds: ROUNDS };
    // The first sessions and sentences of a service take longer.
    if (!smoke) await liveRound(service, await speakStream(service, SENTENCES.slice(3)), FIRST_ROUND);
    const live = await liveFigures(service, stream, plan);
    console.log(tableOf("finals, behind the end of speech", live));
    const speech = await speechFigures(service, sentences, smoke ? 1 : SPEECH_ROUNDS);
    console.log(`\n${tableOf("first audio", speech)}`);
    if (smoke) return;
    const { groups, rounds } = plan;
    const parameters = {
      ...{
        groups,
        rounds,
        speechRounds: SPEECH_ROUNDS,
        messageMs: MESSAGE_MS,
        staggerMs: STAGGER_MS,
        jitterMs: JITTER_MS,
      },
      ...{ sentences, gapSamples: GAP_SAMPLES, wires: LIVE_WIRES.map(({ name, path }) => ({ name, path })) },
    };
    await saveResult("wires", { parameters, live, speech });
  } finally {
    await service.stop();
  }
}

async function liveFigures(
  service: ServiceProcess,
  stream: SpokenStream,
  { groups, rounds }: { readonly groups: number; readonly rounds: number },
): Promise<WireFigure[]> {
  const delays = new Map<string, (number | null)[]>(LIVE_WIRES.map(({ name }) => [name, []]));
  const random = uniformRandom(JITTER_SEED);
  for (let round = 0; round < rounds; round++) {
    for (const [wire, ofRound] of await liveRound(service, stream, { groups, round, random }))
      delays.get(wire.name)!.push(...ofRound);
  }
  return LIVE_WIRES.map(({ name, reference }) => figure(name, reference, delays));
}

/**
 * Runs `groups` sessions of each wire at the same time.
 * @returns the delays of each wire, in the same order: group by group, utterance by utterance
 */
async function liveRound(
  service: ServiceProcess,
  stream: SpokenStream,
  {
    groups,
    round,
    random,
  }: { readonly groups: number; readonly round: number; readonly random: () => number },
): Promise<Map<LiveWire, Delays>> {
  const count = LIVE_WIRES.length;
  const places = new Map<LiveWire, Promise<Delays>[]>(LIVE_WIRES.map((wire) => [wire, []]));
  for (let group = 0; group < groups; group++) {
    for (let nth = 0; nth < count; nth++) {
      // Each wire takes each place in the order.
      const wire = LIVE_WIRES[(nth + group + round) % count]!;
      const startMs = (group * count + nth) * STAGGER_MS + random() * JITTER_MS;
      const session = new Promise((resolve) => setTimeout(resolve, startMs)).then(() =>
        delaysOver(wire, service, stream),
      );
      places.get(wire)!.push(session);
    }
  }
  const delays = new Map<LiveWire, Delays>();
  for (const [wire, sessions] of places) delays.set(wire, (await Promise.all(sessions)).flat());
  return delays;
}

async function speechFigures(
  service: ServiceProcess,
  sentences: readonly string[],
  rounds: number,
): Promise<WireFigure[]> {
  const wires = await speechWires(service);
  const delays = new Map<string, number[]>(wires.map(({ name }) => [name, []]));
  try {
    for (const wire of wires) await wire.speak(sentences[0]!);
    for (let round = 0; round < rounds; round++) {
      for (const text of sentences) {
        // Each wire follows each other one.
        const order = round % 2 === 0 ? wires : wires.toReversed();
        for (let nth = 0; nth < order.length; nth++) {
          const wire = order[(nth + (round >> 1)) % order.length]!;
          delays.get(wire.name)!.push(await wire.speak(text));
        }
      }
    }
  } finally {
    for (const wire of wires) wire.close();
  }
  const [ours] = wires;
  return wires.map(({ name }) => figure(name, name === ours!.name ? null : ours!.name, delays));
}

function figure(
  wire: string,
  reference: string | null,
  delays: ReadonlyMap<string, readonly (number | null)[]>,
): WireFigure {
  const own = delays.get(wire)!;
  const others = reference === null ? [] : delays.get(reference)!;
  const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null);
  const differences = present(
    others.map((other, index) => (other === null || own[index] === null ? null : own[index]! - other)),
  );
  return {
    wire,
    reference,
    delayMs: percentiles(present(own), 1),
    differenceMs: percentiles(differences, 1),
    missed: own.length - present(own).length,
    rawDelaysMs: present(own),
    rawDifferencesMs: differences,
  };
}

function tableOf(what: string, figures: readonly WireFigure[]): string {
  const shown = (value: Percentiles | null) => (value === null ? "" : `${value.p50} / ${value.p95}`);
  return table(
    ["wire", `${what}, p50 / p95, ms`, "difference, p50 / p95, ms", "missed"],
    figures.map(({ wire, delayMs, differenceMs, missed }) => [
      ...[wire, shown(delayMs), shown(differenceMs), String(missed)],
    ]),
  );
}
