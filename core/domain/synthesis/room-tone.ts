import { gaussianNoise } from "./noise.js";
import { SPEECH_RATE_HZ } from "./speech-rate.js";

/** Root mean square, of full scale. */
export const ROOM_TONE_DB = -70;
/**
 * Peaks are cut at so many times the root mean square: the tone stays below -60 dB, where those who look for pauses draw
 * their line.
 */
const CREST = 2.8;
/** The tone repeats after 1.4 s, which nobody hears in noise of this level. A power of two. */
const TABLE_SAMPLES = 2 ** 15;
const TABLE_SEED = 0x726f6f6d;

/** Where the tone of an answer comes from. */
export interface RoomToneSource {
  /** The tone falls off above it by 12 dB an octave. */
  readonly cutoffHz: number;
  /** Where in the tone the answer begins. */
  readonly seed: number;
}

/** Tables by cut-off: as many as installed voices have. */
const tables = new Map<number, Int16Array>();

/**
 * What a room sounds like while nobody speaks: low-passed noise under a whole answer, its speech and its pauses alike, so
 * that no pause begins or ends with a step. It is a function of the place in the answer alone: however the answer is cut,
 * and however often it is made, it is the same.
 */
export class RoomTone {
  readonly #table: Int16Array;
  readonly #offset: number;

  constructor({ cutoffHz, seed }: RoomToneSource) {
    const table = tables.get(cutoffHz) ?? makeTable(cutoffHz);
    tables.set(cutoffHz, table);
    this.#table = table;
    this.#offset = seed % TABLE_SAMPLES;
  }

  /**
   * Samples with the tone under them, clipped at full scale; `pcm`, which others may hold, stays as it is.
   * @param startSample place of `pcm` in its answer
   */
  under(pcm: Int16Array, startSample: number): Int16Array {
    const table = this.#table;
    const heard = new Int16Array(pcm.length);
    let at = (this.#offset + startSample) % TABLE_SAMPLES;
    for (let i = 0; i < pcm.length; i++) {
      const sum = pcm[i]! + table[at]!;
      heard[i] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : sum;
      at = (at + 1) & (TABLE_SAMPLES - 1);
    }
    return heard;
  }
}

/** A ring of noise: its end goes on at its beginning. */
function makeTable(cutoffHz: number): Int16Array {
  const noise = gaussianNoise(TABLE_SAMPLES, TABLE_SEED);
  const share = 1 - Math.exp((-2 * Math.PI * cutoffHz) / SPEECH_RATE_HZ);
  for (let pole = 0; pole < 2; pole++) smoothRing(noise, share);
  let [sum, squares] = [0, 0];
  for (let i = 0; i < TABLE_SAMPLES; i++) {
    sum += noise[i]!;
    squares += noise[i]! ** 2;
  }
  const mean = sum / TABLE_SAMPLES;
  const level = 32_768 * 10 ** (ROOM_TONE_DB / 20);
  const scale = level / Math.sqrt(squares / TABLE_SAMPLES - mean ** 2);
  const peak = CREST * level;
  const table = new Int16Array(TABLE_SAMPLES);
  for (let i = 0; i < TABLE_SAMPLES; i++) {
    table[i] = Math.round(Math.max(-peak, Math.min(peak, (noise[i]! - mean) * scale)));
  }
  return table;
}

/** One pole in place, around the ring twice: the second time it comes from where it ends. */
function smoothRing(values: Float32Array, share: number): void {
  let state = 0;
  for (let i = 0; i < values.length; i++) state += share * (values[i]! - state);
  for (let i = 0; i < values.length; i++) {
    state += share * (values[i]! - state);
    values[i] = state;
  }
}
