import type { EndpointEvent } from "../../src/domain/endpointing/endpointer.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { LiveHypothesis } from "./hypothesis.js";
import type { LiveSlot } from "./live-track.js";
import { partialAnswer } from "./partial.js";
import { SecondPass, type SecondPassInput, SecondPassRunner } from "./second-pass.js";
import type { StatePool } from "./state-pool.js";

/** Second passes may take this long between two steps: those of other sessions wait meanwhile. */
const BUDGET_MS = 8;
const NOTHING_SAID = { offsetSeconds: 0, speechMean: 1, hotWords: null };
const NO_PCM = new Float32Array(0);

type Ended = Extract<EndpointEvent, { type: "ended" }>;

/** An utterance that has ended, as it was at that frame. */
interface Ending {
  readonly slot: LiveSlot;
  readonly event: Ended;
  readonly startFrame: number;
  /** Frames of the session that had been heard. */
  readonly heardFrames: number;
  readonly pass: SecondPass | null;
  readonly hypothesis: LiveHypothesis | null;
}

/** Second passes of all sessions of a live worker, and the finals that come of them. */
export class LiveFinals {
  readonly #model: RecognizerModel;
  readonly #utterances: UtteranceDecoder;
  readonly #post: (message: LiveWorkerAnswer) => void;
  readonly #runner: SecondPassRunner;
  /** Asked for at half of the threshold and needed at the threshold, in this order. */
  readonly #waiting: SecondPass[] = [];
  readonly #endings: Ending[] = [];

  constructor(
    model: RecognizerModel,
    utterances: UtteranceDecoder,
    parts: {
      readonly states: StatePool;
      readonly longestChunk: number;
      readonly post: (message: LiveWorkerAnswer) => void;
    },
  ) {
    this.#model = model;
    this.#utterances = utterances;
    this.#post = parts.post;
    this.#runner = new SecondPassRunner(model, utterances, {
      states: parts.states,
      longestReplay: parts.longestChunk,
    });
  }

  /** Something waits that could be done now. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  async warmUp(): Promise<void> {
    await this.#runner.warmUp();
    await this.#utterances.decode(new Float32Array(this.#model.manifest.sampleRateHz), NOTHING_SAID);
  }

  /** Half of the threshold has passed: the text will be needed unless speech resumes. */
  prepare(input: Omit<SecondPassInput, "endSample">): void {
    const { slot, endFrame } = input;
    const audioEnd = slot.finishSample ?? Number.POSITIVE_INFINITY;
    const endSample = Math.min(endFrame * this.#model.manifest.frameSamples, audioEnd);
    slot.pass?.drop();
    slot.pass = new SecondPass({ ...input, endSample }, this.#runner);
    this.#waiting.push(slot.pass);
  }

  /** Runs what waits for as long as steps may be held up, at least one. */
  async runWaiting(): Promise<void> {
    const startedAtMs = performance.now();
    while (this.#waiting.length > 0 && performance.now() - startedAtMs < BUDGET_MS) {
      const pass = this.#waiting.shift()!;
      if (!pass.isOver) await pass.run();
    }
  }

  /** Notes an end; nothing is said before `publishEndings`. */
  end(slot: LiveSlot, event: Ended): void {
    const startFrame = slot.toSessionFrame(event.startFrame);
    const pass = event.reason === "too-long" ? null : slot.pass;
    if (pass === null) slot.pass?.drop();
    slot.pass = null;
    const { endFrame: heardFrames } = slot.encoded;
    const endFrame = slot.toSessionFrame(event.endFrame);
    const hypothesis = slot.endHypothesis({ frame: endFrame, isMidSpeech: event.isMidSpeech });
    this.#endings.push({ slot, event, startFrame, heardFrames, pass, hypothesis });
  }

  /** Sees that the finals of all utterances that have ended are said when their searches end, those of a session in order. */
  async publishEndings(): Promise<void> {
    for (let index = 0; index < this.#endings.length; index++) {
      const ending = this.#endings[index]!;
      if (ending.slot.isClosed) {
        ending.pass?.drop();
        continue;
      }
      const { decoded } = await this.#begin(ending);
      this.afterFinals(ending.slot, async () => {
        this.#publishLastPartial(ending);
        this.#publish(ending, await decoded);
      });
    }
    if (this.#endings.length > 0) this.#endings.length = 0;
  }

  /** Calls `act` when the finals that the session waits for are said; until it has run, later ones wait for it. */
  afterFinals(slot: LiveSlot, act: () => void | Promise<void>): void {
    slot.pendingFinals++;
    slot.lastFinal = slot.lastFinal.then(async () => {
      await act();
      slot.pendingFinals--;
    });
    slot.lastFinal.catch((error: unknown) => {
      // Ends the thread, as what fails inside of a step does: its owner replays the sessions on another.
      queueMicrotask(() => {
        throw error;
      });
    });
  }

  /** Ends the open utterance at `markSample`, which decoding has reached. */
  async finalizeAt(slot: LiveSlot, markSample: number): Promise<void> {
    for (const event of slot.endpointer.finalizeNow()) {
      if (event.type !== "ended") continue;
      slot.pass ??= this.#passUpTo(slot, event, markSample);
      this.end(slot, event);
    }
    await this.publishEndings();
  }

  #passUpTo(slot: LiveSlot, event: Ended, markSample: number): SecondPass {
    const startFrame = slot.toSessionFrame(event.startFrame);
    const endFrame = slot.encoded.endFrame;
    const framesEnd = endFrame * this.#model.manifest.frameSamples;
    const audioEnd = Math.min(markSample, slot.finishSample ?? Number.POSITIVE_INFINITY);
    const pcm = audioEnd > framesEnd ? new Float32Array(audioEnd - framesEnd) : NO_PCM;
    slot.readPcm(framesEnd, pcm);
    const { speechMean } = event;
    const input = { slot, startFrame, endFrame, state: slot.state, pcm, replayedFrames: 0, speechMean };
    return new SecondPass({ ...input, endSample: audioEnd }, this.#runner);
  }

  /** Runs the graphs of an ending's second pass, unless that was done before; the search goes on beside this thread. */
  #begin({
    slot,
    event,
    startFrame,
    pass,
  }: Ending): Promise<{ readonly decoded: Promise<DecodedUtterance> }> {
    if (pass !== null) return pass.begin();
    // A cut lies in the past, where the encoder's state is gone: the audio itself is decoded, the way files are.
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const startSample = startFrame * frameSamples;
    const pcm = new Float32Array(slot.toSessionFrame(event.endFrame) * frameSamples - startSample);
    slot.readPcm(startSample, pcm);
    return this.#utterances.begin(pcm, {
      offsetSeconds: startSample / sampleRateHz,
      speechMean: event.speechMean,
      hotWords: slot.hotWords,
    });
  }

  #publish(ending: Ending, { text, words }: DecodedUtterance): void {
    const { slot, event, startFrame, hypothesis } = ending;
    if (slot.isClosed) return;
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const endFrame = slot.toSessionFrame(event.endFrame);
    const start = words[0]?.start ?? (startFrame * frameSamples) / sampleRateHz;
    // What is cut in the middle of speech ends at the cut: the next one begins there.
    const lastWord = event.isMidSpeech ? undefined : words.at(-1);
    const end = lastWord?.end ?? (endFrame * frameSamples) / sampleRateHz;
    // A client that may have seen a partial must see how it ended, be it with nothing.
    const isHeard = text !== "" || (slot.wantsPartials && hypothesis?.hasLetters === true);
    slot.resume = { sample: endFrame * frameSamples, isMidSpeech: event.isMidSpeech };
    this.#post({
      type: "final",
      session: slot.session,
      epoch: slot.epoch,
      utterance: slot.nextUtterance,
      text: isHeard ? text : null,
      startSample: Math.round(start * sampleRateHz),
      endSample: Math.min(Math.round(end * sampleRateHz), slot.finishSample ?? Number.POSITIVE_INFINITY),
      words,
      resume: slot.resume,
    });
    if (isHeard) slot.nextUtterance++;
  }

  /**
   * Says the letters that came out since the last partial, so that a final follows the same text however the audio was cut.
   * What is cut for length has been heard beyond its end, and the listener was told.
   */
  #publishLastPartial({ slot, event, startFrame, heardFrames, pass, hypothesis }: Ending): void {
    if (slot.isClosed || !slot.wantsPartials || event.reason === "too-long") return;
    // Without letters there may be no final.
    if (hypothesis === null || !hypothesis.hasLetters) return;
    if (pass !== null) hypothesis.takeLate(pass.endFrame, pass.lateOutputs);
    const text = hypothesis.takeNews();
    if (text !== null) this.#post(partialAnswer(slot, { text, startFrame, heardFrames }, this.#model));
  }
}
