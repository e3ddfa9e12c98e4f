import type { LogProbs, RecognizerModel } from "../models/recognizer.js";
import type { DecodedUtterance, UtteranceDecoder } from "../recognition/utterance-decoder.js";
import type { LiveWorkerAnswer } from "../threads/protocol.js";
import type { GrowingUtterance } from "./growing-utterance.js";
import type { LiveTrack } from "./live-track.js";

/** Of the worker's time, when it has nothing else to do; the less, the more it has, and none at `BUSY_SHARE`. */
const PASS_SHARE = 0.4;
const BUSY_SHARE = 0.9;
/** With less than this left there are no partials for a second. */
const LEAST_SHARE = 0.02;
const LOAD_WINDOW_MS = 1_000;
/** A final that becomes due while a pass runs waits for it: passes are cut to about so long. */
const LONGEST_PASS_MS = 250;
/** The longest window of a pass, and what it is cut to at most where the model is slow. */
const LONGEST_WINDOW_SECONDS = 8;
const SHORTEST_WINDOW_SECONDS = 3;
/** Sessions of one pass. */
const MAX_ROWS = 16;
const WARM_UP_SECONDS = 2;

interface DueReading {
  readonly track: LiveTrack;
  readonly growing: GrowingUtterance;
  readonly overdueFrames: number;
  readonly windowStart: number;
  readonly endFrame: number;
}

export interface PartialPassesParts {
  readonly model: RecognizerModel;
  readonly decodeSoFar: NonNullable<RecognizerModel["decodeSoFar"]>;
  /** Searches as it does for finals. */
  readonly utterances: UtteranceDecoder;
  readonly post: (message: LiveWorkerAnswer) => void;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

/**
 * Partials of models that cannot stream: open utterances are read again while they grow, those of several sessions in one run.
 *
 * Finals come first: a pass runs between two rounds, when no second pass waits, no session lags, and none is so deep in a pause
 * that its second pass would be asked for before the pass is over. All passes together get a share of the worker's time, and
 * the sessions that have waited longest come first, so that partials become rarer with the load.
 */
export class PartialPasses {
  readonly #parts: PartialPassesParts;
  readonly #frameSeconds: number;
  /** Of one second of one row; 0 before it was measured. */
  #msPerSecond = 0;
  #restUntilMs = Number.NEGATIVE_INFINITY;
  #triedAtMs = Number.NEGATIVE_INFINITY;
  /** Share of its time that the worker spends on steps and finals. */
  #load = 0;
  #loadSinceMs: number;
  #otherMs = 0;

  constructor(parts: PartialPassesParts) {
    const { frameSamples, sampleRateHz } = parts.model.manifest;
    this.#parts = parts;
    this.#frameSeconds = frameSamples / sampleRateHz;
    this.#loadSinceMs = parts.nowMs();
  }

  /** Runs the graph as passes will, and measures how long it takes. */
  async warmUp(): Promise<void> {
    const { decodeSoFar, model, nowMs } = this.#parts;
    const samples = WARM_UP_SECONDS * model.manifest.sampleRateHz;
    const pcm = Float32Array.from({ length: samples }, (_, i) => 0.1 * Math.sin(i));
    await decodeSoFar([pcm, pcm.subarray(0, samples / 2)]);
    const startedAtMs = nowMs();
    await decodeSoFar([pcm]);
    this.#msPerSecond = (nowMs() - startedAtMs) / WARM_UP_SECONDS;
  }

  /** The worker has spent so long on steps and finals. */
  noteOther(ms: number): void {
    const nowMs = this.#parts.nowMs();
    this.#otherMs += ms;
    const sinceMs = nowMs - this.#loadSinceMs;
    if (sinceMs < LOAD_WINDOW_MS) return;
    this.#load = this.#otherMs / sinceMs;
    this.#otherMs = 0;
    this.#loadSinceMs = nowMs;
  }

  /** Milliseconds until a pass may be run that is due and had to rest; infinite when only more audio changes something. */
  waitMs(tracks: readonly LiveTrack[]): number {
    const hasRested = this.#restUntilMs <= this.#triedAtMs;
    if (hasRested || this.#dueOf(tracks).length === 0) return Number.POSITIVE_INFINITY;
    return Math.max(1, this.#restUntilMs - this.#parts.nowMs());
  }

  /** Runs one pass, if one is due and its time has come. */
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

  async #read(rows: readonly DueReading[]): Promise<void> {
    const { model, decodeSoFar, post } = this.#parts;
    const { frameSamples } = model.manifest;
    const pcms = rows.map(({ track, windowStart, endFrame }) => {
      const pcm = new Float32Array((endFrame - windowStart) * frameSamples);
      track.readPcm(windowStart * frameSamples, pcm);
      return pcm;
    });
    const read = await decodeSoFar(pcms);
    const found = await Promise.all(rows.map((row, index) => this.#search(row, read[index]!)));
    for (const [index, { track, growing, windowStart, endFrame }] of rows.entries()) {
      if (track.isClosed) continue;
      const news = growing.hear(found[index]!.words, windowStart, endFrame);
      if (news === null) continue;
      post(track.partial({ ...news, startFrame: growing.startFrame, heardFrames: endFrame }));
    }
  }

  #search(
    { track, windowStart, endFrame }: DueReading,
    { logProbs, frames }: LogProbs,
  ): Promise<DecodedUtterance> {
    return this.#parts.utterances.search(logProbs, frames, {
      offsetSeconds: windowStart * this.#frameSeconds,
      endSeconds: endFrame * this.#frameSeconds,
      speechMean: 1,
      hotWords: track.hotWords,
    });
  }

  /** What could be read, the most overdue first. */
  #dueOf(tracks: readonly LiveTrack[]): DueReading[] {
    const longestFrames = Math.floor(this.#longestSeconds / this.#frameSeconds);
    const due: DueReading[] = [];
    for (const track of tracks) {
      const { growing } = track;
      if (growing === null || !track.wantsPartials || track.hasPendingFinals) continue;
      const { endFrame } = track.encoded;
      const overdueFrames = growing.overdueFrames(endFrame);
      if (overdueFrames < 0) continue;
      const windowStart = growing.windowStart(endFrame, longestFrames);
      due.push({ track, growing, overdueFrames, windowStart, endFrame });
    }
    return due.sort((a, b) => b.overdueFrames - a.overdueFrames);
  }

  /** As many of the first as fit into a pass. */
  #rowsOf(due: readonly DueReading[]): DueReading[] {
    const rows: DueReading[] = [];
    for (const reading of due.slice(0, MAX_ROWS)) {
      if (rows.length > 0 && this.#expectedMs([...rows, reading]) > LONGEST_PASS_MS) break;
      rows.push(reading);
    }
    return rows;
  }

  /** Of the padded rows. */
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

  /** A session is so deep in a pause that its second pass will be asked for within this time. */
  #wouldHoldUp(tracks: readonly LiveTrack[], ms: number): boolean {
    return tracks.some(({ endpointer }) => {
      const frames = endpointer.framesToHalfway;
      return frames !== null && frames * this.#frameSeconds * 1_000 <= ms;
    });
  }
}
