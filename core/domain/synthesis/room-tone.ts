import { gaussianNoise } from "./noise.js";
import { SPEECH_RATE_HZ } from "./speech-rate.js";

/** Root mean square, of full scale. */
export const ROOM_TONE_DB = -70;
/**
 * Peaks, as a multiple of the root mean square: keeps the tone below -60 dB, a common threshold for pauses.
 */
const CREST = 2.8;
/** The tone repeats after 1.4 s, inaudibly at this level. A power of two. */
const TABLE_SAMPLES = 2 ** 15;
const TABLE_SEED = 0x726f6f6d;

export interface RoomToneSource {
  /** The tone falls off above it by 12 dB per octave. */
  readonly cutoffHz: number;
  /** Determines where in the tone the response starts. */
  readonly seed: number;
}

/** Tables by cut-off frequency, one for each that installed voices have. */
const tables = new Map<number, Int16Array>();

/**
 * The sound of a quiet room: low-passed noise under the speech and the pauses of a whole response, so that no
 * pause starts or ends abruptly. It depends only on the position in the response, so chunking and repetition
 * do not change it.
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
   * Returns a copy of the samples with the tone added, clipped at full scale.
   * @param startSample position of `pcm` in its response
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

/** Generates a loop of noise whose end continues at its start. */
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

/** Filters with one pole in place, around the ring twice, so that its start continues its end. */
function smoothRing(values: Float32Array, share: number): void {
  let state = 0;
  for (let i = 0; i < values.length; i++) state += share * (values[i]! - state);
  for (let i = 0; i < values.length; i++) {
    state += share * (values[i]! - state);
    values[i] = state;
  }
}
