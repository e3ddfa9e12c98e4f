import { uniformRandom } from "../../../core/domain/statistics/uniform-random.js";
import type { Recognizer } from "../../../native/recognition/load-recognizer.js";
import { runLive } from "../live-client.js";
import { creditDevelopment, startServiceProcess } from "../service-process.js";
import { stepSessions } from "../stepped-session.js";
import { EOU_MS } from "./endings.js";
import type { Utterance } from "./judge.js";
import { RATE_HZ } from "./levels.js";
import { shuffled } from "./signals.js";
import type { Take } from "./takes.js";

/** Size of a typical client message: 40 ms. */
const MESSAGE_SAMPLES = 640;
/** Number of sessions that are stepped together without pacing. */
const SESSIONS_TOGETHER = 16;
/** Time within which clients start, rather than at the same moment. */
const SPREAD_MS = 2_000;
const REPORT_EVERY = 200;
/** Seed of the random order of takes, in which a change of the machine's load affects all cells alike. */
const ORDER_SEED = 1;

/** A final, possibly without text. `decidedAt` is its arrival, as samples spoken by then. */
export interface Final extends Utterance {
  readonly text: string;
}

/** Transcribes every take live and returns its finals, in the order of the takes. */
export type Listener = (takes: readonly Take[], mix: (take: Take) => Int16Array) => Promise<Final[][]>;

/**
 * Streams takes to the real service in real time, `sessions` of them at a time. Some takes are first streamed
 * without being counted, because a service that has just started is slower.
 */
export function pacedListener(sessions: number): Listener {
  return async (takes, mix) => {
    const service = await startServiceProcess({ LIVE_PER_ORG: "1000" });
    try {
      await creditDevelopment(service, 1_000_000_000);
      const heard: Final[][] = takes.map(() => []);
      const order = shuffled([...takes.keys()], uniformRandom(ORDER_SEED));
      const queue = [...order.slice(0, sessions), ...order];
      let next = 0;
      const speakInTurn = async (_: unknown, lane: number) => {
        await new Promise((resolve) => setTimeout(resolve, (lane * SPREAD_MS) / sessions));
        while (next < queue.length) {
          const index = queue[next++]!;
          if (next % REPORT_EVERY === 0) console.error(`take ${next} of ${queue.length}`);
          heard[index] = await listenOnce(service, mix(takes[index]!));
        }
      };
      await Promise.all(Array.from({ length: sessions }, speakInTurn));
      return heard;
    } finally {
      await service.stop();
    }
  };
}

/** Runs the live worker's loop in this thread without pacing. Time is the audio given to it so far. */
export function steppedListener(recognizer: Recognizer): Listener {
  return async (takes, mix) => {
    const heard: Final[][] = takes.map(() => []);
    // Sessions of similar length finish together.
    const byLength = [...takes.keys()].sort((a, b) => takes[a]!.samples - takes[b]!.samples);
    for (let first = 0; first < byLength.length; first += SESSIONS_TOGETHER) {
      const group = byLength.slice(first, first + SESSIONS_TOGETHER);
      const pcms = group.map((index) => mix(takes[index]!));
      const sessions = await stepSessions(recognizer, pcms, { endOfUtteranceMs: EOU_MS });
      for (const [nth, answers] of sessions.entries()) {
        heard[group[nth]!] = answers.flatMap((answer) => {
          if (answer.type !== "final" || answer.text === null) return [];
          const { text, startSample: start, endSample: end, givenSamples: decidedAt } = answer;
          return [{ text, start, end, decidedAt }];
        });
      }
    }
    return heard;
  };
}

async function listenOnce(
  { url, key }: { readonly url: string; readonly key: string },
  pcm: Int16Array,
): Promise<Final[]> {
  const query = `?eou_ms=${EOU_MS}`;
  const run = await runLive({ url, key, pcm, query, messageSamples: MESSAGE_SAMPLES, isPaced: true });
  if (run.closeCode !== 1_000) throw new Error(`A session was closed with ${run.closeCode}`);
  return run.received.flatMap(({ message, atMs }): Final[] => {
    if (message.type !== "final") return [];
    const { text, start, end } = message;
    const decidedAt = ((atMs - run.startedAtMs) / 1_000) * RATE_HZ;
    return [{ text, start: start * RATE_HZ, end: end * RATE_HZ, decidedAt }];
  });
}
