import type { SampleSpan } from "../../core/domain/audio/resample.js";
import { fullWindows, type ReadingWindows, windowOf } from "../../core/domain/decoding/reading-windows.js";
import { type PassRows, stitchPasses } from "../../core/domain/decoding/stitched-passes.js";
import type { LogProbs } from "./log-probs.js";
import type { Reading, UtteranceReader } from "./utterance-reader.js";

class WindowReading implements Reading {
  /** One entry per window read. */
  readonly parts: PassRows[] = [];
  // Always 0: rows near a seam are known only with the next window.
  readonly rowCount = 0;
  readonly rows = new Float32Array(0);
}

export interface WindowReaderParts {
  readonly windows: ReadingWindows;
  /** Number of samples per row of log-probs. */
  readonly rowSamples: number;
  /** Number of outputs in a row. */
  readonly width: number;
  /** Reads a part of an utterance as if it were whole. */
  readonly read: (pcm: Float32Array) => Promise<LogProbs>;
  /** Reads parts of several utterances in the same way. */
  readonly readTogether: (pcms: readonly Float32Array[]) => Promise<readonly LogProbs[]>;
}

/**
 * Reads utterances of a full-context graph in overlapping windows while they are spoken, so that at the
 * end only the audio after the last window remains. The windows depend on the utterance's audio alone.
 */
export class WindowReader implements UtteranceReader {
  readonly endsAnywhere = true;
  readonly #parts: WindowReaderParts;

  constructor(parts: WindowReaderParts) {
    this.#parts = parts;
  }

  begin(): Reading {
    return new WindowReading();
  }

  next(reading: Reading): SampleSpan {
    return windowOf(this.#parts.windows, (reading as WindowReading).parts.length);
  }

  async read(reading: Reading, pcm: Float32Array): Promise<LogProbs> {
    const read = await this.#parts.read(pcm);
    this.#append(reading, read);
    return read;
  }

  async readTogether(
    readings: readonly Reading[],
    pcms: readonly Float32Array[],
  ): Promise<readonly LogProbs[]> {
    const read = await this.#parts.readTogether(pcms);
    for (const [row, reading] of readings.entries()) this.#append(reading, read[row]!);
    return read;
  }

  /** Reads the rest of an utterance that has ended. @param begun does not change the result by a bit */
  async finish(pcm: Float32Array, begun: Reading): Promise<LogProbs> {
    const { windows, width } = this.#parts;
    const count = fullWindows(windows, pcm.length);
    // Windows may have been read past the end: the digital silence after it is not part of the utterance.
    const parts = (begun as WindowReading).parts.slice(0, count);
    while (parts.length <= count) {
      const { start, end } = windowOf(windows, parts.length);
      parts.push(this.#rowsOf(parts.length, await this.#parts.read(pcm.subarray(start, end))));
    }
    const { logProbs, rows } = stitchPasses(parts, width);
    return { logProbs, frames: rows };
  }

  #append(reading: Reading, read: LogProbs): void {
    const { parts } = reading as WindowReading;
    parts.push(this.#rowsOf(parts.length, read));
  }

  #rowsOf(window: number, { logProbs, frames }: LogProbs): PassRows {
    const { windows, rowSamples } = this.#parts;
    return { startRow: windowOf(windows, window).start / rowSamples, logProbs, rows: frames };
  }
}
