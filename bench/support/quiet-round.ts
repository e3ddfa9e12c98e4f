import { setTimeout } from "node:timers/promises";
import { LiveStepper } from "../../native/live/stepper.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import type { UtteranceDecoder } from "../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import { table } from "../evaluate/report.js";
import { liveOpen } from "./live-open.js";
import { type Percentiles, percentiles } from "./percentiles.js";

const RING_SAMPLES = 2 ** 21;
/** The process is idle if it uses less than this share of a core for this time. */
const IDLE = { ms: 50, share: 0.1 } as const;

export interface QuietRound {
  readonly sessions: number;
  readonly wantsPartials: boolean;
  /** CPU time of the process per second of one session's audio. */
  readonly cpuPerAudioSecond: number;
  readonly partialsPerSecond: number;
  readonly finals: number;
  /** Time from an utterance's start, its lead included, to its first partial. */
  readonly firstPartialMs: Percentiles | null;
  /** Time from the end of speech to the final. */
  readonly finalMs: Percentiles | null;
  /** Audio not decoded at the end of the round. */
  readonly backlogSeconds: number;
}

/** The clock of an otherwise idle machine: this process's CPU time plus skipped waits. */
class QuietClock {
  #skippedMs = 0;

  nowMs(): number {
    const { user, system } = process.cpuUsage();
    return this.#skippedMs + (user + system) / 1_000;
  }

  skip(ms: number): void {
    this.#skippedMs += ms;
  }
}

export interface Listening {
  readonly sessions: number;
  readonly wantsPartials: boolean;
  readonly seconds: number;
  readonly pcm: Int16Array;
}

/**
 * Runs a live worker's loop without its thread, with sessions that receive recordings at the pace of speech.
 * The clock counts CPU time, so that other load only affects caches.
 */
export async function quietRound(recognizer: Recognizer, listening: Listening): Promise<QuietRound> {
  const { sessions, wantsPartials, seconds, pcm } = listening;
  const { frameSamples, contextFrames, sampleRateHz } = recognizer.model.manifest;
  const frameMs = (1_000 * frameSamples) / sampleRateHz;
  const rings = Array.from({ length: sessions }, () => PcmRing.create(RING_SAMPLES));
  const clock = new QuietClock();
  const shown = new Set<string>();
  const firstMs: number[] = [];
  const finalMs: number[] = [];
  let partials = 0;
  let startedAtMs = 0;
  /** Returns how long ago a sample of any session was spoken. */
  const sinceMs = (sample: number) => clock.nowMs() - startedAtMs - (1_000 * sample) / sampleRateHz;
  const searches = new Searches(recognizer.utterances);
  const stepper = new LiveStepper({
    ...{ model: recognizer.model, utterances: searches.utterances },
    onStep: () => {},
    nowMs: () => clock.nowMs(),
    post(answer) {
      if (answer.type === "partial") {
        partials++;
        const utterance = `${answer.session} ${answer.utterance}`;
        if (!shown.has(utterance)) firstMs.push(sinceMs(answer.startSample));
        shown.add(utterance);
      }
      if (answer.type === "final") finalMs.push(sinceMs(answer.resume.sample));
      if (answer.type !== "final" && answer.type !== "idle") return;
      const releasable = answer.resume.sample - contextFrames * frameSamples;
      if (releasable > 0) rings[answer.session]!.release(releasable);
    },
  });
  await stepper.warmUp();
  for (const [session, ring] of rings.entries()) {
    stepper.onMessage(liveOpen(session, ring.buffer, { wantsPartials }));
  }
  const before = process.cpuUsage();
  startedAtMs = clock.nowMs();
  await feed({ stepper, searches, rings, clock }, { seconds, pcm, frameSamples, frameMs });
  const { user, system } = process.cpuUsage(before);
  const backlogs = rings.map((ring) => ring.written - ring.cursor);
  for (const session of rings.keys()) stepper.onMessage({ type: "close", session });
  await untilIdle();
  return {
    sessions,
    wantsPartials,
    cpuPerAudioSecond: (user + system) / 1e6 / (sessions * seconds),
    partialsPerSecond: partials / (sessions * seconds),
    finals: finalMs.length,
    firstPartialMs: percentiles(firstMs),
    finalMs: percentiles(finalMs),
    backlogSeconds: Math.max(...backlogs) / sampleRateHz,
  };
}

/** Searches that run beside the stepper: a wait in which one runs cannot be skipped. */
class Searches {
  readonly utterances: UtteranceDecoder;
  readonly #running = new Set<Promise<void>>();

  constructor(utterances: UtteranceDecoder) {
    this.utterances = Object.create(utterances, {
      search: {
        value: (...search: Parameters<UtteranceDecoder["search"]>) => {
          const found = utterances.search(...search);
          const ended: Promise<void> = found.then(
            () => void this.#running.delete(ended),
            () => void this.#running.delete(ended),
          );
          this.#running.add(ended);
          return found;
        },
      },
      ...{ begin: { value: utterances.begin.bind(utterances) } },
      ...{ decode: { value: utterances.decode.bind(utterances) } },
      ...{ growing: { value: utterances.growing.bind(utterances) } },
    }) as UtteranceDecoder;
  }

  /** Waits until a search has ended. @returns false if none runs */
  async next(): Promise<boolean> {
    if (this.#running.size === 0) return false;
    await Promise.race(this.#running);
    return true;
  }
}

/** Waits for the work of an overloaded round, which would slow down the next one. */
async function untilIdle(): Promise<void> {
  for (;;) {
    const before = process.cpuUsage();
    await setTimeout(IDLE.ms);
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1_000 < IDLE.share * IDLE.ms) return;
  }
}

/** Writes the recordings at the pace of speech, each session from another position, and runs rounds. */
async function feed(
  parts: {
    readonly stepper: LiveStepper;
    readonly searches: Searches;
    readonly rings: readonly PcmRing[];
    readonly clock: QuietClock;
  },
  audio: Pick<Listening, "seconds" | "pcm"> & { readonly frameSamples: number; readonly frameMs: number },
): Promise<void> {
  const { stepper, searches, rings, clock } = parts;
  const { seconds, pcm, frameSamples, frameMs } = audio;
  const startedAtMs = clock.nowMs();
  const places = rings.map((_, session) => {
    return Math.floor(((session / rings.length) * pcm.length) / frameSamples) * frameSamples;
  });
  for (let frame = 0; frame < (1_000 * seconds) / frameMs; ) {
    const spoken = Math.floor((clock.nowMs() - startedAtMs) / frameMs);
    for (; frame < spoken; frame++) {
      for (const [session, ring] of rings.entries()) {
        const at = (places[session]! + frame * frameSamples) % (pcm.length - frameSamples);
        ring.write(pcm.subarray(at, at + frameSamples));
      }
    }
    if (await stepper.step()) continue;
    if (await searches.next()) continue;
    const nextFrameMs = startedAtMs + (frame + 1) * frameMs - clock.nowMs();
    clock.skip(Math.max(0.1, Math.min(nextFrameMs, stepper.waitMs)));
  }
}

export function tableOf(rounds: readonly QuietRound[]): string {
  const head = [
    "sessions",
    "partials",
    "CPU s per s of audio",
    "partials per s",
    "first after",
    "finals",
    "after",
    "backlog",
  ];
  const rows = rounds.map((round) => [
    String(round.sessions),
    round.wantsPartials ? "yes" : "no",
    round.cpuPerAudioSecond.toFixed(3),
    round.partialsPerSecond.toFixed(2),
    shown(round.firstPartialMs),
    String(round.finals),
    shown(round.finalMs),
    `${round.backlogSeconds.toFixed(2)} s`,
  ]);
  return table(head, rows);
}

function shown(value: Percentiles | null): string {
  return value === null ? "none" : `${value.p50} / ${value.p95} ms`;
}
