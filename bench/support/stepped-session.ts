import { LiveStepper } from "../../native/live/stepper.js";
import type { Recognizer } from "../../native/recognition/load-recognizer.js";
import { UtteranceDecoder } from "../../native/recognition/utterance-decoder.js";
import { PcmRing } from "../../native/ring/pcm-ring.js";
import type { LiveWorkerAnswer, ToLiveWorker } from "../../native/threads/protocol.js";
import type { TokenSearch } from "../../src/domain/decoding/prefix-beam-search.js";
import { liveOpen } from "./live-open.js";

const RING_SAMPLES = 2 ** 20;

export type SteppedAnswer = Extract<LiveWorkerAnswer, { type: "partial" | "final" }> & {
  /** How much of the audio the worker had been given. */
  readonly givenSamples: number;
};

/** What a live worker says of one session, and the CPU time of this process that it took. */
export interface SteppedSession {
  readonly answers: readonly SteppedAnswer[];
  readonly cpuSeconds: number;
  readonly audioSeconds: number;
}

/** A session of a live worker without its thread, which has decoded each frame before the next one comes: no clock says what it tells. */
export async function stepSession(
  { model, utterances }: Recognizer,
  pcm: Int16Array,
  open: Partial<Extract<ToLiveWorker, { type: "open" }>>,
): Promise<SteppedSession> {
  const { frameSamples, contextFrames, sampleRateHz } = model.manifest;
  const answers: SteppedAnswer[] = [];
  const ring = PcmRing.create(RING_SAMPLES);
  let isFinished = false;
  const stepper = new LiveStepper({
    model,
    utterances: new UtteranceDecoder(model, promptly(utterances), model.outputBias),
    onStep: () => {},
    post(answer) {
      if (answer.type === "finished") isFinished = true;
      if (answer.type === "partial" || answer.type === "final")
        answers.push({ ...answer, givenSamples: ring.written });
      if (answer.type !== "final" && answer.type !== "idle") return;
      const releasable = answer.resume.sample - contextFrames * frameSamples;
      if (releasable > 0) ring.release(releasable);
    },
  });
  stepper.onMessage(liveOpen(0, ring.buffer, open));
  const untilQuiet = async () => {
    while (await stepper.step());
    // What a second pass has found is told in a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const before = process.cpuUsage();
  for (let sample = 0; sample < pcm.length; sample += frameSamples) {
    ring.write(pcm.subarray(sample, sample + frameSamples));
    await untilQuiet();
  }
  stepper.onMessage({ type: "finish", session: 0, atSample: pcm.length });
  while (!isFinished) await untilQuiet();
  const { user, system } = process.cpuUsage(before);
  return { answers, cpuSeconds: (user + system) / 1e6, audioSeconds: pcm.length / sampleRateHz };
}

/** The same search, which ends in the turn in which it is asked for. */
function promptly({ tokenSearch }: UtteranceDecoder): TokenSearch {
  const growing = tokenSearch.growing?.bind(tokenSearch);
  return {
    search: (...input) => tokenSearch.search(...input),
    ...(growing !== undefined && { growing }),
  };
}
