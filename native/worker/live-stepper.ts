import type { TimedWord } from "../../src/domain/decoding/words.js";
import type { EndpointEvent } from "../../src/domain/endpointing/endpointer.js";
import type { CtcTwoPass, StepBatch } from "../onnx/ctc-two-pass.js";
import { LiveSlot } from "./live-slot.js";
import type { FromLiveWorker, ToLiveWorker } from "./protocol.js";
import type { DecodedUtterance, UtteranceDecoder } from "./utterance-decoder.js";

/** Frames a row may take in one step. Long chunks only help sessions that lag; paced ones take one or two. */
const CHUNK_FRAMES = [16, 8, 4, 2, 1] as const;
/** Rows of a batch; a few fixed shapes, so that buffers are allocated once. */
const BATCH_ROWS = [1, 2, 4, 8, 16, 32] as const;
const MAX_ROWS = BATCH_ROWS.at(-1)!;
/** Silence goes back to the ring this often: 2 s. */
const IDLE_REPORT_FRAMES = 50;

/** Steps all sessions of a live worker: gather what is ready, run one batch, hand each session its frames. */
export class LiveStepper {
  readonly #model: CtcTwoPass;
  readonly #utterances: UtteranceDecoder;
  readonly #post: (message: FromLiveWorker) => void;
  readonly #slots = new Map<number, LiveSlot>();
  readonly #batches = new Map<string, StepBatch>();

  constructor(model: CtcTwoPass, utterances: UtteranceDecoder, post: (message: FromLiveWorker) => void) {
    this.#model = model;
    this.#utterances = utterances;
    this.#post = post;
  }

  get sessionCount(): number {
    return this.#slots.size;
  }

  onMessage(message: Exclude<ToLiveWorker, { type: "fault" | "stop" }>): void {
    if (message.type === "open") {
      this.#slots.set(
        message.session,
        new LiveSlot(message, {
          stateSize: this.#model.stateSize,
          vocabulary: this.#model.vocabulary,
          frameSamples: this.#model.manifest.frameSamples,
          contextFrames: this.#model.manifest.contextFrames,
        }),
      );
      return;
    }
    const slot = this.#slots.get(message.session);
    if (slot === undefined) return;
    if (message.type === "finalize") slot.markFinalize(message.atSample);
    else if (message.type === "finish") slot.markFinish(message.atSample);
    else this.#slots.delete(message.session);
  }

  /** Runs the largest kernels once, so that the first session does not pay for their setup. */
  async warmUp(): Promise<void> {
    for (const rows of [1, 2, 4, 8]) for (const frames of [1, 2, 4]) await this.#batch(rows, frames).run();
    await this.#utterances.decode(new Float32Array(this.#model.manifest.sampleRateHz), 0);
  }

  /** One round over all sessions; false when none had anything to do. */
  async step(): Promise<boolean> {
    let hasWorked = await this.#settleMarks();
    for (const [frames, slots] of this.#gather()) {
      for (let first = 0; first < slots.length; first += MAX_ROWS) {
        await this.#runBatch(slots.slice(first, first + MAX_ROWS), frames);
        hasWorked = true;
      }
    }
    return hasWorked;
  }

  #gather(): Map<number, LiveSlot[]> {
    const groups = new Map<number, LiveSlot[]>();
    for (const slot of this.#slots.values()) {
      const available = slot.availableFrames;
      if (available === 0) continue;
      const frames = CHUNK_FRAMES.find((size) => size <= available)!;
      const group = groups.get(frames);
      if (group === undefined) groups.set(frames, [slot]);
      else group.push(slot);
    }
    return groups;
  }

  async #runBatch(slots: readonly LiveSlot[], frames: number): Promise<void> {
    const rows = BATCH_ROWS.find((size) => size >= slots.length)!;
    const batch = this.#batch(rows, frames);
    const { stateSize } = this.#model;
    const pcmSize = frames * this.#model.manifest.frameSamples;
    for (const [row, slot] of slots.entries()) {
      slot.takeFrames(frames, batch.pcm.subarray(row * pcmSize, (row + 1) * pcmSize));
      batch.state.set(slot.state, row * stateSize);
    }
    await batch.run();
    const rowSize = frames * this.#model.vocabulary.length;
    for (const [row, slot] of slots.entries()) {
      slot.state.set(batch.nextState.subarray(row * stateSize, (row + 1) * stateSize));
      const logProbs = batch.logProbs.subarray(row * rowSize, (row + 1) * rowSize);
      const speech = batch.speech.subarray(row * frames, (row + 1) * frames);
      await this.#onFrames(slot, frames, logProbs, speech);
    }
  }

  async #onFrames(
    slot: LiveSlot,
    frames: number,
    logProbs: Float32Array,
    speech: Float32Array,
  ): Promise<void> {
    const vocabulary = this.#model.vocabulary.length;
    for (let index = 0; index < frames; index++) {
      const frame = slot.frameOf(index, frames);
      if (!slot.counts(frame)) continue;
      const row = logProbs.subarray(index * vocabulary, (index + 1) * vocabulary);
      slot.rememberRow(frame, row);
      const wasOpen = slot.endpointer.isOpen;
      const events = slot.endpointer.push(speech[index]!);
      if (wasOpen) slot.greedy.push(row, 1);
      for (const event of events) await this.#onEndpoint(slot, event, frame);
    }
    this.#reportPartial(slot, slot.frameOf(frames, frames));
    this.#reportIdle(slot);
  }

  async #onEndpoint(slot: LiveSlot, event: EndpointEvent, frame: number): Promise<void> {
    const startFrame = slot.toSessionFrame(event.startFrame);
    switch (event.type) {
      case "started":
        slot.restartHypothesis(startFrame, frame);
        return;
      case "halfway":
        slot.waitingFinal = await this.#decode(slot, startFrame, event.endFrame, null);
        return;
      case "resumed":
        slot.waitingFinal = null;
        return;
      case "ended": {
        const waiting = slot.waitingFinal;
        slot.waitingFinal = null;
        const isPause = event.reason === "pause";
        const decoded =
          isPause && waiting !== null
            ? waiting
            : await this.#decode(slot, startFrame, event.endFrame, isPause ? null : event.reason);
        this.#publish(slot, startFrame, slot.toSessionFrame(event.endFrame), decoded);
      }
    }
  }

  /** Second pass over the utterance's audio, from the ring: the same whatever the chunks of the first pass were. */
  async #decode(
    slot: LiveSlot,
    startFrame: number,
    endpointerEnd: number,
    cut: "too-long" | "finalize" | null,
    markSample = Number.POSITIVE_INFINITY,
  ): Promise<DecodedUtterance> {
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const tailFrames = cut === "too-long" ? 0 : Math.ceil(slot.pauseFrames / 2);
    const endSample = (slot.toSessionFrame(endpointerEnd) + tailFrames) * frameSamples;
    const startSample = startFrame * frameSamples;
    // The silence after the last audio is ours: nothing may be said to have been spoken in it.
    const audioEnd = slot.finishSample ?? Number.POSITIVE_INFINITY;
    const pcm = new Float32Array(Math.max(0, Math.min(endSample, markSample, audioEnd) - startSample));
    slot.readPcm(startSample, pcm);
    return this.#utterances.decode(pcm, startSample / sampleRateHz);
  }

  /** Ends utterances at marks that decoding has reached, and sessions whose audio is all decoded. */
  async #settleMarks(): Promise<boolean> {
    let hasWorked = false;
    for (const slot of this.#slots.values()) {
      for (let mark = slot.takeReachedMark(); mark !== null; mark = slot.takeReachedMark()) {
        await this.#finalizeAt(slot, mark);
        hasWorked = true;
      }
      if (!slot.hasReachedFinish) continue;
      await this.#finalizeAt(slot, slot.finishSample!);
      slot.isFinished = true;
      this.#post({ type: "finished", session: slot.session, epoch: slot.epoch });
      hasWorked = true;
    }
    return hasWorked;
  }

  async #finalizeAt(slot: LiveSlot, markSample: number): Promise<void> {
    slot.waitingFinal = null;
    for (const event of slot.endpointer.finalizeNow()) {
      if (event.type !== "ended") continue;
      const startFrame = slot.toSessionFrame(event.startFrame);
      const decoded = await this.#decode(slot, startFrame, event.endFrame, "finalize", markSample);
      this.#publish(slot, startFrame, slot.toSessionFrame(event.endFrame), decoded);
    }
  }

  #publish(slot: LiveSlot, startFrame: number, endFrame: number, decoded: DecodedUtterance): void {
    const { frameSamples, sampleRateHz } = this.#model.manifest;
    const words: readonly TimedWord[] = decoded.words;
    // A client that has seen a partial must see how it ended, be it with nothing.
    const isHeard = decoded.text !== "" || slot.sentPartial !== "";
    slot.resumeSample = endFrame * frameSamples;
    this.#post({
      type: "final",
      session: slot.session,
      epoch: slot.epoch,
      utterance: slot.nextUtterance,
      text: isHeard ? decoded.text : null,
      startSample: Math.round((words[0]?.start ?? (startFrame * frameSamples) / sampleRateHz) * sampleRateHz),
      endSample: Math.min(
        Math.round((words.at(-1)?.end ?? (endFrame * frameSamples) / sampleRateHz) * sampleRateHz),
        slot.finishSample ?? Number.POSITIVE_INFINITY,
      ),
      words,
      resumeSample: slot.resumeSample,
    });
    if (isHeard) slot.nextUtterance++;
    slot.sentPartial = "";
    if (!slot.endpointer.isOpen) slot.greedy.reset();
  }

  #reportPartial(slot: LiveSlot, nextFrame: number): void {
    if (!slot.wantsPartials || !slot.endpointer.isOpen) return;
    const text = slot.greedy.text;
    if (text === "" || text === slot.sentPartial) return;
    slot.sentPartial = text;
    const { frameSamples } = this.#model.manifest;
    this.#post({
      type: "partial",
      session: slot.session,
      epoch: slot.epoch,
      utterance: slot.nextUtterance,
      text,
      startSample: slot.toSessionFrame(slot.endpointer.earliestNeededFrame) * frameSamples,
      endSample: Math.min(nextFrame * frameSamples, slot.finishSample ?? Number.POSITIVE_INFINITY),
    });
  }

  #reportIdle(slot: LiveSlot): void {
    if (slot.endpointer.isOpen) return;
    const { frameSamples } = this.#model.manifest;
    const neededSample = slot.toSessionFrame(slot.endpointer.earliestNeededFrame) * frameSamples;
    if (neededSample - slot.resumeSample < IDLE_REPORT_FRAMES * frameSamples) return;
    slot.resumeSample = neededSample;
    this.#post({ type: "idle", session: slot.session, epoch: slot.epoch, resumeSample: neededSample });
  }

  #batch(rows: number, frames: number): StepBatch {
    const key = `${rows}x${frames}`;
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      batch = this.#model.stepBatch(rows, frames);
      this.#batches.set(key, batch);
    }
    return batch;
  }
}
