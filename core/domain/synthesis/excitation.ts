/** Pulses contain harmonics up to this share of the sample rate. */
const HARMONIC_LIMIT = 0.48;

/**
 * Makes the band-limited pulse train of unit power that the vocoder's harmonic part filters.
 *
 * Frame i is centred on sample `hopSamples * (i + 0.5)`; f0 is interpolated between centres and held at both
 * ends. The phase is summed in double precision; all harmonics below the limit have equal amplitude and zero
 * phase (closed Dirichlet form). There is no voicing gate: the vocoder determines the audible share of the
 * train.
 *
 * @param f0 Hz per frame, `[frames]`, positive everywhere
 * @returns `[frames * hopSamples]`
 * @see models/recipes/synthesizer/excitation.py, which the vocoder was trained with
 */
export function pulseTrain(f0: Float32Array, hopSamples: number, sampleRateHz: number): Float32Array {
  return new PulseTrain(f0, hopSamples, sampleRateHz).upTo(f0.length * hopSamples);
}

/** The same pulse train, computed only as far as needed. */
export class PulseTrain {
  readonly #f0: Float32Array;
  readonly #hopSamples: number;
  readonly #sampleRateHz: number;
  readonly #pulses: Float32Array;
  #summed = 0;
  #phase = 0;

  constructor(f0: Float32Array, hopSamples: number, sampleRateHz: number) {
    this.#f0 = f0;
    this.#hopSamples = hopSamples;
    this.#sampleRateHz = sampleRateHz;
    this.#pulses = new Float32Array(f0.length * hopSamples);
  }

  /** @returns `[frames * hopSamples]`, computed up to the largest `end` so far */
  upTo(end: number): Float32Array {
    const f0 = this.#f0;
    const hopSamples = this.#hopSamples;
    const sampleRateHz = this.#sampleRateHz;
    const pulses = this.#pulses;
    const frames = f0.length;
    let phase = this.#phase;
    let n = this.#summed;
    for (; n < end; n++) {
      const position = (n - (hopSamples - 1) / 2) / hopSamples;
      const left = Math.min(Math.max(Math.floor(position), 0), Math.max(frames - 2, 0));
      const right = Math.min(left + 1, frames - 1);
      const weight = Math.min(Math.max(position - left, 0), 1);
      const frequencyHz = (1 - weight) * f0[left]! + weight * f0[right]!;
      phase += frequencyHz / sampleRateHz;
      phase -= Math.floor(phase);
      const harmonics = Math.floor((HARMONIC_LIMIT * sampleRateHz) / frequencyHz);
      const below = Math.sin(Math.PI * phase);
      const sum =
        Math.abs(below) < 1e-6
          ? harmonics
          : 0.5 * (Math.sin((2 * harmonics + 1) * Math.PI * phase) / below - 1);
      // K cosines of amplitude 1 have power K / 2.
      pulses[n] = sum * Math.sqrt(2 / harmonics);
    }
    this.#phase = phase;
    this.#summed = n;
    return pulses;
  }
}
