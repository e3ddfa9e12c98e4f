import type { SampleSpan } from "../../core/domain/audio/resample.js";
import { type RowsOfLength, rowsOfLength } from "../../core/domain/placement/shared-passes.js";
import type { LogProbs } from "../models/log-probs.js";
import type { UtteranceReader } from "../models/utterance-reader.js";
import type { LiveTrack } from "./live-track.js";
import type { OpenReading } from "./read-utterance.js";

/** Time budget for chunks between two steps, during which other sessions and finals wait. */
const BUDGET_MS = 8;
/** Time for which chunks let pending finals run first. */
const PATIENCE_MS = 500;

/** A chunk or window that has been read. */
export interface ReadChunk {
  readonly track: LiveTrack;
  /** Start of the utterance, in frames of the session. */
  readonly startFrame: number;
  /** Samples of the utterance. */
  readonly span: SampleSpan;
  readonly rows: LogProbs;
}

/**
 * Reads open utterances in chunks while they are spoken.
 *
 * An utterance is not read further while a pause may end it: its second pass starts at the end of the
 * reading, so what the pass reads then depends on the audio alone. A session with a waiting chunk is not
 * stepped, so a second pass never has much left to read.
 */
export class ChunkReadings {
  readonly #reader: UtteranceReader;
  readonly #frameSamples: number;
  readonly #rows: readonly RowsOfLength[];
  /** Sessions with a chunk to read in this round; reused. */
  readonly #due: LiveTrack[] = [];
  /** Index of the first session in this round. */
  #turn = 0;
  #hasMore = false;
  /** Since when chunks wait for finals; null if none do. */
  #waitingSinceMs: number | null = null;

  /** @param rows windows per run, as for second passes; on a CPU none share a run */
  constructor(reader: UtteranceReader, frameSamples: number, rows: readonly RowsOfLength[] = []) {
    this.#reader = reader;
    this.#frameSamples = frameSamples;
    this.#rows = rows;
  }

  /** Whether the last round left chunks for the next one. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Whether the next chunk of a session's open utterance has been spoken. */
  isDue({ openReading, isInPause, encoded }: LiveTrack): boolean {
    if (openReading === null || isInPause) return false;
    const spoken = (encoded.endFrame - openReading.startFrame) * this.#frameSamples;
    return this.#reader.next(openReading.reading).end <= spoken;
  }

  /**
   * Reads a chunk of each session that has one, within the budget; at least one, unless finals are pending.
   * @param onRead called for each session of which a chunk was read
   */
  async run(
    tracks: readonly LiveTrack[],
    hasPendingFinals: boolean,
    onRead: (read: ReadChunk) => void,
  ): Promise<boolean> {
    const due = this.#due;
    due.length = 0;
    for (let index = 0; index < tracks.length; index++) {
      const track = tracks[(index + this.#turn) % tracks.length]!;
      if (this.isDue(track)) due.push(track);
    }
    const startedAtMs = performance.now();
    this.#hasMore = due.length > 0;
    if (this.#hasMore && hasPendingFinals) {
      // Finals are needed first, but sessions with much speech must not starve.
      this.#waitingSinceMs ??= startedAtMs;
      if (startedAtMs - this.#waitingSinceMs < PATIENCE_MS) return false;
    }
    this.#waitingSinceMs = null;
    let done = 0;
    while (done < due.length && (done === 0 || performance.now() - startedAtMs < BUDGET_MS)) {
      const run = due.slice(done, done + this.#sharing(due[done]!));
      done += run.length;
      for (const read of await this.#read(run)) {
        if (!read.track.isClosed) onRead(read);
      }
    }
    // Sessions that have waited come first in the next round.
    if (done < due.length) this.#turn = tracks.indexOf(due[done]!);
    this.#hasMore = due.some((track) => !track.isClosed && this.isDue(track));
    return done > 0;
  }

  /** Returns how many windows may share a run with a session's; all windows are equally long. */
  #sharing({ openReading }: LiveTrack): number {
    if (this.#reader.readTogether === undefined) return 1;
    const { start, end } = this.#reader.next(openReading!.reading);
    return rowsOfLength(this.#rows, (end - start) / this.#frameSamples);
  }

  async #read(tracks: readonly LiveTrack[]): Promise<readonly ReadChunk[]> {
    const parts = tracks.map((track) => {
      const { startFrame, reading } = track.openReading!;
      const span = this.#reader.next(reading);
      return { track, startFrame, reading, span, pcm: this.#audioOf(track, { startFrame, reading }, span) };
    });
    const [first] = parts;
    const read =
      parts.length === 1
        ? [await this.#reader.read(first!.reading, first!.pcm)]
        : await this.#reader.readTogether!(
            parts.map(({ reading }) => reading),
            parts.map(({ pcm }) => pcm),
          );
    return parts.map(({ track, startFrame, span }, row) => {
      track.read?.takeRows();
      return { track, startFrame, span, rows: read[row]! };
    });
  }

  /** Copies samples of an utterance, which the track keeps as output of its steps. */
  #audioOf({ encoded }: LiveTrack, { startFrame }: OpenReading, { start, end }: SampleSpan): Float32Array {
    const firstFrame = Math.max(0, Math.floor(start / this.#frameSamples));
    const endFrame = Math.ceil(end / this.#frameSamples);
    const firstSample = firstFrame * this.#frameSamples;
    const frames = new Float32Array((endFrame - firstFrame) * this.#frameSamples);
    encoded.copy(startFrame + firstFrame, startFrame + endFrame, frames);
    const audio = new Float32Array(end - start);
    const from = Math.max(start, firstSample);
    audio.set(frames.subarray(from - firstSample, end - firstSample), from - start);
    return audio;
  }
}
