import type { EndpointEvent } from "../../core/domain/endpointing/endpointer.js";
import type { RowsOfLength } from "../../core/domain/placement/shared-passes.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { EndedText, LateOutputs, ToldText } from "./hypothesis.js";
import type { LiveTrack } from "./live-track.js";
import { SecondPass, type SecondPassInput, SecondPassRunner } from "./second-pass.js";
import type { StatePool } from "./state-pool.js";

/** Second passes may take this long between two steps: those of other sessions wait meanwhile. */
const BUDGET_MS = 8;
const NOTHING_SAID = { offsetSeconds: 0, speechMean: 1, hotWords: null };
const NO_PCM = new Float32Array(0);
const NO_TEXT: Promise<DecodedUtterance> = Promise.resolve({ text: "", words: [] });
const NOTHING_LATE: LateOutputs = { startFrame: -1, best: [] };

type Ended = Extract<EndpointEvent, { type: "ended" }>;

/** An utterance that has ended, as it was at that frame. */
interface Ending {
  readonly track: LiveTrack;
  readonly event: Ended;
  readonly startFrame: number;
  /** Frames of the session that had been heard. */
  readonly heardFrames: number;
  readonly pass: SecondPass | null;
  readonly hypothesis: EndedText | null;
}

/** A second pass that was asked for in a pause. */
interface Waiting {
  readonly track: LiveTrack;
  readonly pass: SecondPass;
  readonly startFrame: number;
}

/** Second passes of all sessions of a live worker, and the finals that come of them. */
export class LiveFinals {
  readonly #model: RecognizerModel;
  readonly #utterances: UtteranceDecoder;
  readonly #post: (message: LiveWorkerAnswer) => void;
  readonly #runner: SecondPassRunner;
  /** Asked for at half of the threshold and needed at the threshold, in this order. */
  readonly #waiting: Waiting[] = [];
  readonly #endings: Ending[] = [];

  constructor(
    model: RecognizerModel,
    utterances: UtteranceDecoder,
    parts: {
      readonly states: StatePool;
      readonly longestChunk: number;
      /** See `BatchRows.finalRows`. */
      readonly rows: readonly RowsOfLength[];
      readonly post: (message: LiveWorkerAnswer) => void;
    },
  ) {
    this.#model = model;
    this.#utterances = utterances;
    this.#post = parts.post;
    this.#runner = new SecondPassRunner(model, utterances, {
      states: parts.states,
      longestReplay: parts.longestChunk,
      rows: parts.rows,
    });
  }

  /** Something waits that could be done now. */
  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  async warmUp(which: "usual shapes" | "every shape"): Promise<void> {
    await this.#runner.warmUp(which);
    await this.#utterances.decode(new Float32Array(this.#model.manifest.sampleRateHz), NOTHING_SAID);
  }

  /** Half of the threshold has passed: the text will be needed unless speech resumes. */
  prepare(track: LiveTrack, flush: Omit<SecondPassInput, "encoded" | "hotWords" | "endSample">): void {
    const pass = this.#passOf(track, flush, flush.endFrame * this.#model.manifest.frameSamples);
    track.keepPass(pass);
    this.#waiting.push({ track, pass, startFrame: flush.startFrame });
  }

  /** Runs what waits for as long as steps may be held up, at least one. */
  async runWaiting(): Promise<void> {
    const startedAtMs = performance.now();
    while (this.#waiting.length > 0 && performance.now() - startedAtMs < BUDGET_MS) {
      const run = this.#takeWaiting();
      if (run.length === 0) return;
      await this.#runner.run(run.map(({ pass }) => pass));
      for (const waiting of run) {
        if (!waiting.track.wantsPartials) continue;
        // A failure is told to the ending that needs the text.
        waiting.pass.decoded.then(
          ({ text }) => this.#tellReading(waiting, text),
          () => {},
        );
      }
    }
  }

  /** The first that waits and those that share its run; nothing when none is needed any more. */
  #takeWaiting(): readonly Waiting[] {
    const needed = this.#waiting.filter(({ pass }) => !pass.isOver);
    const taken = new Set(needed.length === 0 ? [] : this.#runner.sharing(needed.map(({ pass }) => pass)));
    this.#waiting.length = 0;
    this.#waiting.push(...needed.filter((_, at) => !taken.has(at)));
    return needed.filter((_, at) => taken.has(at));
  }

  /** Notes an end; nothing is said before `publishEndings`. */
  end(track: LiveTrack, event: Ended): void {
    const startFrame = track.toSessionFrame(event.startFrame);
    // These two end in the past; the prepared pass reads on to the present.
    if (event.reason === "too-long" || event.reason === "wordless") track.dropPass();
    const pass = track.takePass();
    const { endFrame: heardFrames } = track.encoded;
    const endFrame = track.toSessionFrame(event.endFrame);
    const hypothesis = track.endHypothesis({ frame: endFrame, isMidSpeech: event.isMidSpeech });
    this.#endings.push({ track, event, startFrame, heardFrames, pass, hypothesis });
  }

  /** Sees that the finals of all utterances that have ended are said when their searches end, those of a session in order. */
  async publishEndings(): Promise<void> {
    for (let index = 0; index < this.#endings.length; index++) {
      const ending = this.#endings[index]!;
      if (ending.track.isClosed) {
        ending.pass?.drop();
        continue;
      }
      const { decoded } = await this.#begin(ending, index);
      ending.track.afterFinals(async () => {
        this.#publishLast(ending, (text) => text.takeLate(lateOf(ending)));
        const found = await decoded;
        this.#publishLast(ending, (text) => text.hearReading(found.text));
        this.#publish(ending, found);
      });
    }
    if (this.#endings.length > 0) this.#endings.length = 0;
  }

  /** Ends the open utterance at `markSample`, which decoding has reached. */
  async finalizeAt(track: LiveTrack, markSample: number): Promise<void> {
    for (const event of track.endpointer.finalizeNow()) {
      if (event.type === "started") {
        track.beginHypothesis(track.toSessionFrame(event.startFrame), track.encoded.endFrame - 1);
      }
      if (event.type !== "ended") continue;
      track.keepPass(track.takePass() ?? this.#passUpTo(track, event, markSample));
      this.end(track, event);
    }
    await this.publishEndings();
  }

  #passUpTo(track: LiveTrack, event: Ended, markSample: number): SecondPass {
    const startFrame = track.toSessionFrame(event.startFrame);
    const endFrame = track.encoded.endFrame;
    const framesEnd = endFrame * this.#model.manifest.frameSamples;
    const audioEnd = Math.min(markSample, track.audioEnd);
    const pcm = audioEnd > framesEnd ? new Float32Array(audioEnd - framesEnd) : NO_PCM;
    track.readPcm(framesEnd, pcm);
    const { state } = track.place;
    const flush = { startFrame, endFrame, state, pcm, replayedFrames: 0, speechMean: event.speechMean };
    return this.#passOf(track, flush, audioEnd);
  }

  #passOf(
    { encoded, hotWords, audioEnd }: LiveTrack,
    flush: Omit<SecondPassInput, "encoded" | "hotWords" | "endSample">,
    endSample: number,
  ): SecondPass {
    const input = { ...flush, encoded, hotWords, endSample: Math.min(endSample, audioEnd) };
    return new SecondPass(input, this.#runner);
  }

  /**
   * Runs the graphs of an ending's second pass, unless that was done before, with those of endings behind it that share its run;
   * the search goes on beside this thread.
   */
  async #begin(
    { track, event, startFrame, pass }: Ending,
    index: number,
  ): Promise<{ readonly decoded: Promise<DecodedUtterance> }> {
    if (pass !== null) {
      if (!pass.hasRun) await this.#runFrom(index);
      return { decoded: pass.decoded };
    }
    if (event.reason === "wordless" && !event.hasLetters) return { decoded: NO_TEXT };
    // A cut lies in the past, where the encoder's state is gone: the audio itself is decoded, the way files are.
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const startSample = startFrame * frameSamples;
    const pcm = new Float32Array(track.toSessionFrame(event.endFrame) * frameSamples - startSample);
    track.readPcm(startSample, pcm);
    return this.#utterances.begin(pcm, {
      offsetSeconds: startSample / sampleRateHz,
      speechMean: event.speechMean,
      hotWords: track.hotWords,
    });
  }

  async #runFrom(index: number): Promise<void> {
    const passes = this.#endings
      .slice(index)
      .flatMap(({ track, pass }) => (pass === null || pass.hasRun || track.isClosed ? [] : [pass]));
    await this.#runner.run(this.#runner.sharing(passes).map((at) => passes[at]!));
  }

  #publish(ending: Ending, { text, words }: DecodedUtterance): void {
    const { track, event, startFrame, hypothesis } = ending;
    if (track.isClosed) return;
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const endFrame = track.toSessionFrame(event.endFrame);
    const start = words[0]?.start ?? (startFrame * frameSamples) / sampleRateHz;
    // What is cut in the middle of speech ends at the cut: the next one begins there.
    const lastWord = event.isMidSpeech ? undefined : words.at(-1);
    const end = lastWord?.end ?? (endFrame * frameSamples) / sampleRateHz;
    // A client that may have seen a partial must see how it ended, even with no text.
    const isHeard = text !== "" || (track.wantsPartials && hypothesis?.hasLetters === true);
    const { isMidSpeech, speaker } = event;
    const resume = { sample: endFrame * frameSamples, isMidSpeech, ...(speaker !== null && { speaker }) };
    const utterance = track.settle(resume, isHeard);
    this.#post({
      type: "final",
      session: track.session,
      epoch: track.epoch,
      utterance,
      text: isHeard ? text : null,
      startSample: Math.round(start * sampleRateHz),
      endSample: Math.min(Math.round(end * sampleRateHz), track.audioEnd),
      words,
      resume,
    });
  }

  /**
   * Says what came out since the last partial, so that a final follows the same text however the audio was cut. What is cut for
   * length has been heard beyond its end, and the listener was told.
   */
  #publishLast(ending: Ending, take: (text: EndedText) => ToldText | null): void {
    const { track, event, startFrame, heardFrames, hypothesis } = ending;
    if (track.isClosed || !track.wantsPartials || event.reason === "too-long") return;
    // Without letters there may be no final.
    if (hypothesis === null || !hypothesis.hasLetters) return;
    const last = take(hypothesis);
    if (last !== null) this.#post(track.partial({ ...last, startFrame, heardFrames }));
  }

  /** What the second pass reads in a pause that lasts is a partial: its final comes when the threshold has passed. */
  #tellReading({ track, pass, startFrame }: Waiting, text: string): void {
    if (track.isClosed || track.hasPendingFinals || !track.isKept(pass)) return;
    const reading = track.hearReading(text);
    if (reading !== null) this.#post(track.partial({ ...reading, startFrame, heardFrames: pass.endFrame }));
  }
}

function lateOf({ pass }: Ending): LateOutputs {
  return pass === null ? NOTHING_LATE : { startFrame: pass.endFrame, best: pass.lateOutputs };
}
