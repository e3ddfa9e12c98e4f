import type { TimedWord } from "../../core/domain/decoding/words.js";
import type { LogProbs } from "../models/log-probs.js";
import type { RecognizerModel } from "../models/recognizer.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { ReadChunk } from "./chunk-readings.js";
import type { GrowingUtterance } from "./growing-utterance.js";
import type { LiveTrack } from "./live-track.js";

/** Share of an idle worker's time for passes; falls with its load to 0 at `BUSY_SHARE`. */
const PASS_SHARE = 0.4;
const BUSY_SHARE = 0.9;
/** Below this share of time, partials pause for a second. */
const LEAST_SHARE = 0.02;
const LOAD_WINDOW_MS = 1_000;
/**
 * Limits the delay of a final that becomes due during a pass: such a pass would start after 80 ms of silence.
 */
const LONGEST_PASS_MS = 120;
const LONGEST_WINDOW_SECONDS = 8;
/** Minimum window of slow models, whose windows are shortened. */
const SHORTEST_WINDOW_SECONDS = 2;
const MAX_ROWS = 16;
const WARM_UP_SECONDS = 2;

/** Frames of an open utterance, numbered as in its session. */
interface ReadFrames {
  readonly track: LiveTrack;
  readonly growing: GrowingUtterance;
  readonly windowStart: number;
  readonly endFrame: number;
}

interface DueReading extends ReadFrames {
  readonly overdueFrames: number;
}

export interface PartialPassesParts {
  readonly model: RecognizerModel;
  readonly decodeSoFar: NonNullable<RecognizerModel["decodeSoFar"]>;
  /** The search that is also used for finals. */
  readonly utterances: UtteranceDecoder;
  readonly post: (message: LiveWorkerAnswer) => void;
  readonly nowMs: () => number;
}

/**
 * Partials of models that cannot stream: reads open utterances repeatedly while they grow, several sessions
 * in one run.
 *
 * Finals have priority: a pass runs between two rounds, if no second pass is waiting, no session has a
 * backlog, and no session's pause is so advanced that its second pass would become due during the pass. All
 * passes together get a share of the worker's time, and sessions that have waited longest come first, so
 * partials become rarer under load.
 */
export class PartialPasses {
  readonly #parts: PartialPassesParts;
  readonly #frameSeconds: number;
  /** Time for one second of one row; 0 before the first measurement. */
  #msPerSecond = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  /** Share of the worker's time for steps and finals. */
  #load = 0;
  #loadSinceMs: number;
  #otherMs = 0;

  constructor(parts: PartialPassesParts) {
    const { frameSamples, sampleRateHz } = parts.model.manifest;
    this.#parts = parts;
    this.#frameSeconds = frameSamples / sampleRateHz;
    this.#loadSinceMs = parts.nowMs();
  }

  /** Runs the graph as passes do, and measures its speed. */
  async warmUp(): Promise<void> {
    const { decodeSoFar, model, nowMs } = this.#parts;
    const samples = WARM_UP_SECONDS * model.manifest.sampleRateHz;
    const pcm = Float32Array.from({ length: samples }, (_, i) => 0.1 * Math.sin(i));
    await decodeSoFar([pcm, pcm.subarray(0, samples / 2)]);
    const startedAtMs = nowMs();
    await decodeSoFar([pcm]);
    this.#msPerSecond = (nowMs() - startedAtMs) / WARM_UP_SECONDS;
  }

  /** Adds time that the worker spent on steps and finals. */
  noteOther(ms: number): void {
    const nowMs = this.#parts.nowMs();
    this.#otherMs += ms;
    const sinceMs = nowMs - this.#loadSinceMs;
    if (sinceMs < LOAD_WINDOW_MS) return;
    this.#load = this.#otherMs / sinceMs;
    this.#otherMs = 0;
    this.#loadSinceMs = nowMs;
  }

  /** Returns the milliseconds until a due pass may run; infinite if more audio must arrive first. */
  waitMs(tracks: readonly LiveTrack[]): number {
    const hasRested = this.#restUntilMs <= this.#triedAtMs;
    if (hasRested || this.#dueOf(tracks).length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(1, this.#restUntilMs - this.#parts.nowMs());
  }

  /** Runs one pass if one is due and allowed. Returns whether it did. */
  async run(tracks: readonly LiveTrack[]): Promise<boolean> {
    const startedAtMs = this.#parts.nowMs();
    this.#triedAtMs = startedAtMs;
    if (startedAtMs < this.#restUntilMs) return false;
    const rows = this.#rowsOf(this.#dueOf(tracks));
    if (rows.length === 0 || this.#wouldHoldUp(tracks, this.#expectedMs(rows))) return false;
    const share = PASS_SHARE * (1 - this.#load / BUSY_SHARE);
    if (share < LEAST_SHARE) {
      this.#restUntilMs = startedAtMs + LOAD_WINDOW_MS;
      return false;
    }
    await this.#read(rows);
    const endedAtMs = this.#parts.nowMs();
    const tookMs = endedAtMs - startedAtMs;
    this.#msPerSecond += 0.25 * (tookMs / this.#secondsOf(rows) - this.#msPerSecond);
    this.#restUntilMs = endedAtMs + tookMs / share - tookMs;
    return true;
  }

  /** Takes a window that was read for the final: it serves partials at no extra cost. */
  takeWindow({ track, startFrame, span, rows }: ReadChunk): void {
    const { growing } = track;
    if (growing === null || !track.wantsPartials || track.hasPendingFinals) return;
    const frameOf = (sample: number) => startFrame + sample / this.#parts.model.manifest.frameSamples;
    const row = { track, growing, windowStart: frameOf(span.start), endFrame: frameOf(span.end) };
    this.#search(row, rows).then(
      ({ words }) => this.#report(row, words),
      // The final's search fails in the same way, and that failure is handled.
      () => {},
    );
  }

  #report({ track, growing, windowStart, endFrame }: ReadFrames, words: readonly TimedWord[]): void {
    // The utterance has ended meanwhile: its final is next.
    if (track.isClosed || track.growing !== growing) return;
    const update = growing.take(words, windowStart, endFrame);
    if (update !== null)
      this.#parts.post(track.partial({ ...update, startFrame: growing.startFrame, endFrame }));
  }

  async #read(rows: readonly DueReading[]): Promise<void> {
    const { model, decodeSoFar } = this.#parts;
    const { frameSamples } = model.manifest;
    const pcms = rows.map(({ track, windowStart, endFrame }) => {
      const pcm = new Float32Array((endFrame - windowStart) * frameSamples);
      track.readPcm(windowStart * frameSamples, pcm);
      return pcm;
    });
    const read = await decodeSoFar(pcms);
    const found = await Promise.all(rows.map((row, index) => this.#search(row, read[index]!)));
    for (const [index, row] of rows.entries()) this.#report(row, found[index]!.words);
  }

  #search(
    { track, windowStart, endFrame }: ReadFrames,
    { logProbs, frames }: LogProbs,
  ): Promise<DecodedUtterance> {
    return this.#parts.utterances.search(logProbs, frames, {
      offsetSeconds: windowStart * this.#frameSeconds,
      endSeconds: endFrame * this.#frameSeconds,
      speechMean: 1,
      hotWords: track.hotWords,
    });
  }

  /** Lists the due readings, the most overdue first. */
  #dueOf(tracks: readonly LiveTrack[]): DueReading[] {
    const longestFrames = Math.floor(this.#longestSeconds / this.#frameSeconds);
    const due: DueReading[] = [];
    for (const track of tracks) {
      const { growing } = track;
      if (growing === null || !track.wantsPartials || track.hasPendingFinals) continue;
      const { endFrame } = track.encoded;
      const overdueFrames = growing.overdueFrames(endFrame);
      if (overdueFrames < 0) continue;
      const windowStart = Math.max(growing.windowStart(endFrame, longestFrames), this.#unreadFrame(growing));
      due.push({ track, growing, overdueFrames, windowStart, endFrame });
    }
    return due.sort((a, b) => b.overdueFrames - a.overdueFrames);
  }

  /** Returns the start of the next window: everything before its overlap was read for the final. */
  #unreadFrame({ startFrame, reading }: GrowingUtterance): number {
    const { reader, manifest } = this.#parts.model;
    if (reader === null || reading === null) return startFrame;
    return startFrame + reader.next(reading).start / manifest.frameSamples;
  }

  /** Takes as many readings as fit into a pass. */
  #rowsOf(due: readonly DueReading[]): DueReading[] {
    const rows: DueReading[] = [];
    for (const reading of due.slice(0, MAX_ROWS)) {
      if (rows.length > 0 && this.#expectedMs([...rows, reading]) > LONGEST_PASS_MS) break;
      rows.push(reading);
    }
    return rows;
  }

  /** Returns the length of all rows together, padding included. */
  #secondsOf(rows: readonly DueReading[]): number {
    const longest = Math.max(...rows.map(({ windowStart, endFrame }) => endFrame - windowStart));
    return rows.length * longest * this.#frameSeconds;
  }

  #expectedMs(rows: readonly DueReading[]): number {
    return this.#msPerSecond * this.#secondsOf(rows);
  }

  get #longestSeconds(): number {
    const fits = LONGEST_PASS_MS / this.#msPerSecond;
    return Math.min(LONGEST_WINDOW_SECONDS, Math.max(SHORTEST_WINDOW_SECONDS, fits));
  }

  /** Returns whether a session's second pass will become due within this time. */
  #wouldHoldUp(tracks: readonly LiveTrack[], ms: number): boolean {
    return tracks.some(({ endpointer }) => {
      const frames = endpointer.framesToHalfway;
      return frames !== null && frames * this.#frameSeconds * 1_000 <= ms;
    });
  }
}
