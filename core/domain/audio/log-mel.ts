import { Fft } from "./fft.js";
import { MelFilterbank, type MelFilterbankOptions } from "./mel-filterbank.js";

export interface LogMelOptions {
  readonly windowSamples: number;
  readonly hopSamples: number;
  readonly window: "hann" | "hann-periodic" | "povey";
  readonly mel: MelFilterbankOptions;
  /** Start of frame 0: below 0 when frames are centred. */
  readonly firstSample: number;
  /** Padding: `reflect` leaves the edge sample out, `mirror` repeats it. */
  readonly edge: "zeros" | "reflect" | "mirror";
  readonly frameCount: (samples: number) => number;
  /** Subtracts the mean of each frame. */
  readonly removesOffset: boolean;
  /**
   * x[n] - factor * x[n - 1], over the signal or in each frame, whose first sample is its own predecessor.
   */
  readonly preemphasis: { readonly factor: number; readonly scope: "signal" | "frame" } | null;
  /** Keeps the logarithm finite. */
  readonly floor: { readonly kind: "add" | "clamp"; readonly value: number };
}

/**
 * Computes log-mel features, `[frames, bins]`, natural log of power; `front-ends.ts` has the options of each
 * model. Adds no dither, which only training needs. Not re-entrant.
 */
export class LogMel {
  readonly options: LogMelOptions;
  readonly bins: number;
  readonly #fft: Fft;
  readonly #filterbank: MelFilterbank;
  readonly #window: Float64Array;
  readonly #frame: Float64Array;
  readonly #power: Float64Array;

  constructor(options: LogMelOptions) {
    this.options = options;
    this.bins = options.mel.bins;
    this.#fft = new Fft(options.mel.fftSamples);
    this.#filterbank = new MelFilterbank(options.mel);
    this.#window = windowOf(options);
    this.#frame = new Float64Array(options.windowSamples);
    this.#power = new Float64Array((options.mel.fftSamples >> 1) + 1);
  }

  /**
   * @param pcm mono, -1 to 1
   * @returns `[frames * bins]`, row-major; empty when `pcm` is too short for a frame
   */
  compute(pcm: Float32Array): Float32Array {
    const { hopSamples, firstSample, frameCount } = this.options;
    const frames = pcm.length === 0 ? 0 : Math.max(0, frameCount(pcm.length));
    const features = new Float32Array(frames * this.bins);
    for (let frame = 0; frame < frames; frame++) {
      this.#fill(pcm, firstSample + frame * hopSamples);
      this.#finish(features, frame * this.bins);
    }
    return features;
  }

  /**
   * Computes one frame of a stream.
   *
   * @param samples must contain the window from `start` on, and one sample before it
   * @param target receives `bins` values from `offset` on
   */
  computeFrame(samples: Float32Array, start: number, target: Float32Array, offset: number): void {
    const { preemphasis } = this.options;
    const factor = preemphasis?.scope === "signal" ? preemphasis.factor : 0;
    for (let i = 0; i < this.#frame.length; i++) {
      this.#frame[i] = samples[start + i]! - (factor === 0 ? 0 : factor * samples[start + i - 1]!);
    }
    this.#finish(target, offset);
  }

  #fill(pcm: Float32Array, start: number): void {
    const { preemphasis, edge } = this.options;
    const factor = preemphasis?.scope === "signal" ? preemphasis.factor : 0;
    for (let i = 0; i < this.#frame.length; i++) {
      const at = edge === "zeros" ? start + i : foldedIndex(start + i, pcm.length, edge);
      if (at < 0 || at >= pcm.length) this.#frame[i] = 0;
      else this.#frame[i] = pcm[at]! - (at > 0 && factor !== 0 ? factor * pcm[at - 1]! : 0);
    }
  }

  #finish(target: Float32Array, offset: number): void {
    const frame = this.#frame;
    const { removesOffset, preemphasis, floor } = this.options;
    if (removesOffset) {
      let sum = 0;
      for (let i = 0; i < frame.length; i++) sum += frame[i]!;
      for (let i = 0; i < frame.length; i++) frame[i] = frame[i]! - sum / frame.length;
    }
    if (preemphasis?.scope === "frame") {
      for (let i = frame.length - 1; i >= 0; i--) {
        frame[i] = frame[i]! - preemphasis.factor * frame[Math.max(0, i - 1)]!;
      }
    }
    for (let i = 0; i < frame.length; i++) frame[i] = frame[i]! * this.#window[i]!;
    this.#fft.powerSpectrum(frame, this.#power);
    for (let band = 0; band < this.bins; band++) {
      const energy = this.#filterbank.energy(this.#power, band);
      target[offset + band] = Math.log(
        floor.kind === "add" ? energy + floor.value : Math.max(energy, floor.value),
      );
    }
  }
}

/**
 * Normalizes each bin to mean 0 and standard deviation 1 over the frames, in place.
 * @see NeMo, `normalize_batch` with `per_feature`: the deviation of a sample, not of a population, plus 1e-5
 */
export function normalizeBins(features: Float32Array, bins: number): void {
  const frames = features.length / bins;
  for (let bin = 0; bin < bins; bin++) {
    let sum = 0;
    for (let at = bin; at < features.length; at += bins) sum += features[at]!;
    const mean = sum / frames;
    let squares = 0;
    for (let at = bin; at < features.length; at += bins) squares += (features[at]! - mean) ** 2;
    // A single frame has no deviation and becomes 0.
    const deviation = frames > 1 ? Math.sqrt(squares / (frames - 1)) : 0;
    for (let at = bin; at < features.length; at += bins) {
      features[at] = (features[at]! - mean) / (deviation + 1e-5);
    }
  }
}

/** Transposes `[frames, bins]` to `[bins, frames]`. */
export function binsFirst(features: Float32Array, bins: number): Float32Array {
  const frames = features.length / bins;
  const transposed = new Float32Array(features.length);
  for (let frame = 0; frame < frames; frame++) {
    for (let bin = 0; bin < bins; bin++) transposed[bin * frames + frame] = features[frame * bins + bin]!;
  }
  return transposed;
}

/**
 * Computes the window in single precision, as the originals do: its rounding dominates quiet bands next to
 * loud ones. Hann follows torch step by step.
 */
function windowOf({ window, windowSamples }: LogMelOptions): Float64Array {
  const period = window === "hann-periodic" ? windowSamples : windowSamples - 1;
  const step = (2 * Math.PI) / period;
  if (window === "povey") {
    return Float64Array.from({ length: windowSamples }, (_, i) => {
      return Math.fround((0.5 - 0.5 * Math.cos(step * i)) ** 0.85);
    });
  }
  return Float64Array.from({ length: windowSamples }, (_, i) => {
    const cosine = Math.fround(Math.cos(Math.fround(i * Math.fround(step))));
    return Math.fround(0.5 - 0.5 * cosine);
  });
}

function foldedIndex(index: number, length: number, edge: "reflect" | "mirror"): number {
  if (length === 1) return 0;
  let at = index;
  while (at < 0 || at >= length) {
    if (at < 0) at = edge === "reflect" ? -at : -at - 1;
    else at = edge === "reflect" ? 2 * length - 2 - at : 2 * length - 1 - at;
  }
  return at;
}
