import type { EndpointEvent } from "../../core/domain/endpointing/endpointer.js";
import type { RowsOfLength } from "../../core/domain/placement/shared-passes.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { Reading } from "../models/utterance-reader.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { StatePool } from "./encoder-memory.js";
import type { EndedText, FlushOutputs, PartialText } from "./hypothesis.js";
import type { LiveTrack } from "./live-track.js";
import { SecondPass, type SecondPassInput, SecondPassRunner } from "./second-pass.js";

/** Time budget for second passes between two steps, during which other sessions wait. */
const BUDGET_MS = 8;
const WARM_UP = { offsetSeconds: 0, speechMean: 1, hotWords: null };
const NO_PCM = new Float32Array(0);
const NO_TEXT: Promise<DecodedUtterance> = Promise.resolve({ text: "", words: [] });
const NO_OUTPUTS: FlushOutputs = { startFrame: -1, best: [] };

type Ended = Extract<EndpointEvent, { type: "ended" }>;

interface Ending {
  readonly track: LiveTrack;
  readonly event: Ended;
  readonly startFrame: number;
  /** Frames of the session decoded so far. */
  readonly endFrame: number;
  readonly pass: SecondPass | null;
  readonly hypothesis: EndedText | null;
  readonly reading: Reading | null;
  readonly isFromFinalize: boolean;
}

/** A second pass requested in a pause. */
interface PendingPass {
  readonly track: LiveTrack;
  readonly pass: SecondPass;
  readonly startFrame: number;
}

type PauseInput = Omit<SecondPassInput, "encoded" | "hotWords" | "reading" | "endSample">;

export class LiveFinals {
  readonly #model: RecognizerModel;
  readonly #utterances: UtteranceDecoder;
  readonly #post: (message: LiveWorkerAnswer) => void;
  readonly #runner: SecondPassRunner;
  /** Passes requested at half of the silence threshold and needed at the threshold, in order. */
  readonly #pending: PendingPass[] = [];
  readonly #endings: Ending[] = [];

  constructor(
    model: RecognizerModel,
    utterances: UtteranceDecoder,
    parts: {
      readonly states: StatePool;
      readonly longestChunk: number;
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

  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  async warmUp(which: "usual shapes" | "every shape"): Promise<void> {
    await this.#runner.warmUp(which);
    await this.#utterances.decode(new Float32Array(this.#model.manifest.sampleRateHz), WARM_UP);
  }

  /** Requests a second pass at half of the threshold: its text will be needed unless speech resumes. */
  prepare(track: LiveTrack, flush: PauseInput): void {
    const pass = this.#passOf(track, flush, flush.endFrame * this.#model.manifest.frameSamples);
    track.keepPass(pass);
    this.#pending.push({ track, pass, startFrame: flush.startFrame });
  }

  /** Runs pending passes within the budget, at least one. */
  async runPending(): Promise<void> {
    const startedAtMs = performance.now();
    while (this.#pending.length > 0 && performance.now() - startedAtMs < BUDGET_MS) {
      const run = this.#takePending();
      if (run.length === 0) return;
      await this.#runner.run(run.map(({ pass }) => pass));
      for (const pending of run) {
        if (!pending.track.wantsPartials) continue;
        // The code that needs the text at the utterance's end handles a failure.
        pending.pass.decoded.then(
          (decoded) => this.#reportSecondPass(pending, decoded),
          () => {},
        );
      }
    }
  }

  /** Takes the first pending pass and those that share its run; empty if all were dropped. */
  #takePending(): readonly PendingPass[] {
    const needed = this.#pending.filter(({ pass }) => !pass.isOver);
    const taken = new Set(needed.length === 0 ? [] : this.#runner.sharing(needed.map(({ pass }) => pass)));
    this.#pending.length = 0;
    this.#pending.push(...needed.filter((_, at) => !taken.has(at)));
    return needed.filter((_, at) => taken.has(at));
  }

  /** Records the end of an utterance, to be published by `publishEndings`. */
  end(track: LiveTrack, event: Ended, isFromFinalize = false): void {
    const startFrame = track.toSessionFrame(event.startFrame);
    // These endings lie in the past, but a prepared pass reads up to the present.
    if (event.reason !== "pause" && event.reason !== "finalize") track.dropPass();
    const pass = track.takePass();
    const { endFrame } = track.encoded;
    const frame = track.toSessionFrame(event.endFrame);
    const reading = this.#model.reader?.endsAnywhere === true ? readingOf(track, startFrame) : null;
    const hypothesis = track.endHypothesis({ frame, isMidSpeech: event.isMidSpeech });
    const text = { startFrame, endFrame, pass, hypothesis, reading };
    this.#endings.push({ track, event, ...text, isFromFinalize });
  }

  /** Runs the second passes of recorded endings; finals follow after their searches, in order per session. */
  async publishEndings(): Promise<void> {
    for (let index = 0; index < this.#endings.length; index++) {
      const ending = this.#endings[index]!;
      if (ending.track.isClosed) {
        ending.pass?.drop();
        continue;
      }
      const { decoded } = await this.#begin(ending, index);
      ending.track.afterFinals(async () => {
        this.#publishLast(ending, (text) => text.takeFlush(flushOutputsOf(ending)));
        const found = await decoded;
        this.#publishLast(ending, (text) => text.takeSecondPass(found.text));
        this.#publish(ending, found);
      });
    }
    if (this.#endings.length > 0) this.#endings.length = 0;
  }

  /** Ends the open utterance at the mark of a `finalize` or `finish` that decoding has reached. */
  async finalizeAt(track: LiveTrack, markSample: number, type: "finalize" | "finish"): Promise<void> {
    for (const event of track.endpointer.finalizeNow()) {
      if (event.type === "started") {
        track.beginHypothesis(track.toSessionFrame(event.startFrame), track.encoded.endFrame - 1);
      }
      if (event.type !== "ended") continue;
      track.keepPass(track.takePass() ?? this.#passUpTo(track, event, markSample));
      this.end(track, event, type === "finalize" && event.reason === "finalize");
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

  #passOf(track: LiveTrack, flush: PauseInput, endSample: number): SecondPass {
    const { encoded, hotWords, audioEnd } = track;
    const reading = readingOf(track, flush.startFrame);
    const input = { ...flush, encoded, hotWords, reading, endSample: Math.min(endSample, audioEnd) };
    return new SecondPass(input, this.#runner);
  }

  /** Runs the second pass of an ending, unless it has run, and of later endings that share its run. */
  async #begin(
    { track, event, startFrame, pass, reading }: Ending,
    index: number,
  ): Promise<{ readonly decoded: Promise<DecodedUtterance> }> {
    if (pass !== null) {
      if (!pass.hasRun) await this.#runFrom(index);
      return { decoded: pass.decoded };
    }
    if (event.reason === "wordless" && !event.hasLetters) return { decoded: NO_TEXT };
    // A cut lies in the past and its encoder state is lost: decode the audio itself.
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const startSample = startFrame * frameSamples;
    const pcm = new Float32Array(track.toSessionFrame(event.endFrame) * frameSamples - startSample);
    track.readPcm(startSample, pcm);
    return this.#utterances.begin(pcm, {
      offsetSeconds: startSample / sampleRateHz,
      speechMean: event.speechMean,
      hotWords: track.hotWords,
      reading,
    });
  }

  async #runFrom(index: number): Promise<void> {
    const passes = this.#endings
      .slice(index)
      .flatMap(({ track, pass }) => (pass === null || pass.hasRun || track.isClosed ? [] : [pass]));
    await this.#runner.run(this.#runner.sharing(passes).map((at) => passes[at]!));
  }

  #publish(ending: Ending, { text, words }: DecodedUtterance): void {
    const { track, event, startFrame, hypothesis, isFromFinalize } = ending;
    if (track.isClosed) return;
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const endFrame = track.toSessionFrame(event.endFrame);
    const start = words[0]?.start ?? (startFrame * frameSamples) / sampleRateHz;
    // An utterance cut during speech ends at the cut, where the next one starts.
    const lastWord = event.isMidSpeech ? undefined : words.at(-1);
    const end = lastWord?.end ?? (endFrame * frameSamples) / sampleRateHz;
    // A client that may have seen a partial must see its final, even without text.
    const isReported = text !== "" || (track.wantsPartials && hypothesis?.hasLetters === true);
    const { isMidSpeech, speaker } = event;
    const resume = { sample: endFrame * frameSamples, isMidSpeech, ...(speaker !== null && { speaker }) };
    const utterance = track.settle(resume, isReported);
    this.#post({
      type: "final",
      session: track.session,
      epoch: track.epoch,
      utterance,
      text: isReported ? text : null,
      startSample: Math.round(start * sampleRateHz),
      endSample: Math.min(Math.round(end * sampleRateHz), track.audioEnd),
      words,
      resume,
      ...(isFromFinalize && { isFromFinalize }),
    });
  }

  /**
   * Reports a last partial, so that the same text precedes a final regardless of how the audio was chunked.
   * Skips utterances cut for length, whose partials have already covered more than the final.
   */
  #publishLast(ending: Ending, take: (text: EndedText) => PartialText | null): void {
    const { track, event, startFrame, endFrame, hypothesis } = ending;
    if (track.isClosed || !track.wantsPartials || event.reason === "too-long") return;
    // Without letters there may be no final.
    if (hypothesis === null || !hypothesis.hasLetters) return;
    const last = take(hypothesis);
    if (last !== null) this.#post(track.partial({ ...last, startFrame, endFrame }));
  }

  /**
   * Reports the second pass's text as a partial while the pause lasts; the final follows at the threshold.
   */
  #reportSecondPass({ track, pass, startFrame }: PendingPass, { text, words }: DecodedUtterance): void {
    if (track.isClosed || track.hasPendingFinals || !track.isKept(pass)) return;
    const { wantsPauses } = track;
    const partial = track.takeSecondPass(text) ?? (wantsPauses ? track.reported : null);
    if (partial === null) return;
    const pause = wantsPauses ? { pauseWords: words } : {};
    this.#post(track.partial({ ...partial, ...pause, startFrame, endFrame: pass.input.endFrame }));
  }
}

/** A reading that started with a farther voice is repeated from the speaker's first words, as in files. */
function readingOf({ openReading }: LiveTrack, startFrame: number): Reading | null {
  return openReading?.startFrame === startFrame ? openReading.reading : null;
}

function flushOutputsOf({ pass }: Ending): FlushOutputs {
  return pass?.flush ?? NO_OUTPUTS;
}
