import type { TokenSearch } from "../../core/domain/decoding/prefix-beam-search.js";
import { LiveStepper } from "../../native/live/stepper.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer, ToLiveWorker } from "../../native/threads/protocol.js";
import { liveOpen } from "./live-open.js";

const RING_SAMPLES = 2 ** 20;

type OpenMessage = Extract<ToLiveWorker, { type: "open" }>;

export type SteppedAnswer = Extract<LiveWorkerAnswer, { type: "partial" | "final" }> & {
  /** Length of the audio that the worker had received. */
  readonly givenSamples: number;
};

/** A live worker's answers for one session, and the CPU time of this process. */
export interface SteppedSession {
  readonly answers: readonly SteppedAnswer[];
  readonly cpuSeconds: number;
  readonly audioSeconds: number;
}

/**
 * Runs a session of a live worker without its thread; each frame is decoded before the next one arrives, so
 * that results do not depend on timing.
 */
export async function stepSession(
  recognizer: Recognizer,
  pcm: Int16Array,
  open: Partial<OpenMessage>,
): Promise<SteppedSession> {
  const before = process.cpuUsage();
  const [answers = []] = await stepSessions(recognizer, [pcm], open);
  const { user, system } = process.cpuUsage(before);
  const audioSeconds = pcm.length / recognizer.model.manifest.sampleRateHz;
  return { answers, cpuSeconds: (user + system) / 1e6, audioSeconds };
}

/** Runs several sessions that share their steps; each gets the answers that it would get alone. */
export async function stepSessions(
  { model, utterances }: Recognizer,
  pcms: readonly Int16Array[],
  open: Partial<OpenMessage>,
): Promise<SteppedAnswer[][]> {
  const { frameSamples, contextFrames } = model.manifest;
  const sessions = pcms.map((pcm) => {
    const answers: SteppedAnswer[] = [];
    return { pcm, answers, ring: PcmRing.create(RING_SAMPLES) };
  });
  let unfinished = sessions.length;
  const stepper = new LiveStepper({
    model,
    utterances: new UtteranceDecoder(model, promptly(utterances), model.outputBias),
    onStep: () => {},
    post(answer) {
      if (answer.type === "finished") unfinished--;
      const { answers, ring } = sessions[answer.session]!;
      if (answer.type === "partial" || answer.type === "final")
        answers.push({ ...answer, givenSamples: ring.written });
      if (answer.type !== "final" && answer.type !== "idle") return;
      const releasable = answer.resume.sample - contextFrames * frameSamples;
      if (releasable > 0) ring.release(releasable);
    },
  });
  for (const [session, { ring }] of sessions.entries()) {
    stepper.onMessage(liveOpen(session, ring.buffer, open));
  }
  const untilQuiet = async () => {
    while (await stepper.step());
    // A second pass reports its result in a later turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const longest = Math.max(...pcms.map(({ length }) => length));
  for (let sample = 0; sample < longest; sample += frameSamples) {
    for (const { pcm, ring } of sessions) ring.write(pcm.subarray(sample, sample + frameSamples));
    await untilQuiet();
    for (const [session, { pcm }] of sessions.entries()) {
      if (pcm.length <= sample || pcm.length > sample + frameSamples) continue;
      stepper.onMessage({ type: "finish", session, atSample: pcm.length });
    }
  }
  while (unfinished > 0) await untilQuiet();
  return sessions.map(({ answers }) => answers);
}

/** Returns the same search, completed in the turn that requests it. */
function promptly({ tokenSearch }: UtteranceDecoder): TokenSearch {
  const growing = tokenSearch.growing?.bind(tokenSearch);
  return {
    search: (...input) => tokenSearch.search(...input),
    ...(growing !== undefined && { growing }),
  };
}
