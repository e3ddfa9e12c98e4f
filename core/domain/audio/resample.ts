import { ServiceError } from "../errors.js";

/** Zero crossings of the sinc on each side of its peak, at the lower of the two rates. */
const ZERO_CROSSINGS = 32;
/** Attenuation for which the window is designed; the measured one stays above 75 dB. */
const STOP_BAND_DB = 80;
/** Maximum number of phases in a filter's table; ratios that need more interpolate, which bounds memory. */
const MAX_PHASES = 1_024;
const RATE_HZ = { min: 4_000, max: 384_000 };
const NOTHING = new Float32Array(0);

export interface ResampleOptions {
  readonly fromHz: number;
  readonly toHz: number;
}

interface StreamOptions extends ResampleOptions {
  /** Output does not wait for later input; the sound is late by half the filter, 2 ms from 24 to 16 kHz. */
  readonly isPrompt?: boolean;
}

/**
 * Changes the sample rate of a stream, band-limited.
 *
 * Output sample n corresponds to input position `n * fromHz / toHz`: the filter's delay is removed. After
 * `flush()`, `n` inputs have produced `ceil(n * toHz / fromHz)` outputs, bit-identical for any chunking of
 * the input. A prompt stream has produced them before `flush()`: it starts with the filter's delay as silence
 * and omits as much of its end.
 *
 * @see Smith, "Digital Audio Resampling", CCRMA; Kaiser window design after Oppenheim and Schafer, 1989
 */
export class Resampler {
  readonly #up: number;
  readonly #down: number;
  readonly #filter: Filter;
  /** Input from index `#heldStart` on; indices below 0 are silence. */
  #held: Float32Array;
  #heldStart: number;
  #heldCount: number;
  #inputCount = 0;
  #outputCount = 0;
  /** Input position of the next output: whole samples, and a fraction in units of 1 / up. */
  #position: number;
  #phase = 0;

  /** @throws {ServiceError} `AUDIO_UNREADABLE` for rates that are not integers from 4 to 384 kHz */
  constructor({ isPrompt = false, ...options }: StreamOptions) {
    const { up, down } = ratioOf(options);
    this.#up = up;
    this.#down = down;
    this.#filter = filterFor(this.#up, this.#down);
    const { tapCount } = this.#filter;
    this.#position = isPrompt ? -tapCount / 2 : 0;
    this.#heldStart = this.#position - tapCount / 2;
    this.#heldCount = -this.#heldStart;
    this.#held = new Float32Array(Math.max(8_192, tapCount * 4));
  }

  push(samples: Float32Array): Float32Array {
    this.#inputCount += samples.length;
    if (this.#up === this.#down) return samples.slice();
    this.#append(samples);
    return this.#produce(Number.POSITIVE_INFINITY);
  }

  /** Returns the remaining outputs, as if silence followed, and ends the stream. */
  flush(): Float32Array {
    if (this.#up === this.#down) return NOTHING;
    this.#append(new Float32Array(this.#filter.tapCount));
    return this.#produce(Math.ceil((this.#inputCount * this.#up) / this.#down));
  }

  #append(samples: Float32Array): void {
    const needed = this.#heldCount + samples.length;
    if (needed > this.#held.length) {
      const grown = new Float32Array(needed * 2);
      grown.set(this.#held.subarray(0, this.#heldCount));
      this.#held = grown;
    }
    this.#held.set(samples, this.#heldCount);
    this.#heldCount = needed;
  }

  #produce(lastOutput: number): Float32Array {
    const { tapCount } = this.#filter;
    const half = tapCount / 2;
    // The filter at position p covers inputs p - half + 1 to p + half.
    const heldEnd = this.#heldStart + this.#heldCount;
    const spanUnits = (heldEnd - half - this.#position) * this.#up - this.#phase;
    const ready = Math.max(0, Math.min(Math.ceil(spanUnits / this.#down), lastOutput - this.#outputCount));
    const output = new Float32Array(ready);
    const wholeStep = Math.floor(this.#down / this.#up);
    const phaseStep = this.#down % this.#up;
    for (let i = 0; i < ready; i++) {
      output[i] = this.#filter.apply(this.#held, this.#position - half + 1 - this.#heldStart, this.#phase);
      this.#position += wholeStep;
      this.#phase += phaseStep;
      if (this.#phase >= this.#up) {
        this.#phase -= this.#up;
        this.#position++;
      }
    }
    this.#outputCount += ready;
    this.#forget(this.#position - half + 1 - this.#heldStart);
    return output;
  }

  /** Drops inputs that no later output needs. */
  #forget(count: number): void {
    const dropped = Math.min(count, this.#heldCount);
    if (dropped <= 0) return;
    this.#held.copyWithin(0, dropped, this.#heldCount);
    this.#heldStart += dropped;
    this.#heldCount -= dropped;
  }
}

/** A range of samples, the end excluded. */
export interface SampleSpan {
  readonly start: number;
  readonly end: number;
}

/** Returns the range of inputs that a range of outputs needs; positions outside the recording are silence. */
export function inputSpan({ start, end }: SampleSpan, options: ResampleOptions): SampleSpan {
  const { up, down } = ratioOf(options);
  if (up === down || end <= start) return { start, end };
  const half = tapCountFor(up, down) / 2;
  const place = (output: number) => Math.floor((output * down) / up);
  return { start: place(start) - half + 1, end: place(end - 1) + half + 1 };
}

/**
 * An implementation of the filter in another language; fills `outputs`.
 *
 * @param table `[up, tapCount]`, one filter for each phase
 * @param phase phase of the first output, whose first tap is at the first input
 */
export type Convolve = (
  table: Float32Array,
  tapCount: number,
  up: number,
  down: number,
  phase: number,
  inputs: Float32Array,
  outputs: Float32Array,
) => void;

/**
 * Computes a range of a recording's outputs, bit-identical to those of `Resampler`.
 *
 * @param inputs the samples in the range that `inputSpan` returns for these outputs
 * @param convolve used for the usual ratios if not null
 */
export function resampleSpan(
  inputs: Float32Array,
  { start, end }: SampleSpan,
  options: ResampleOptions,
  convolve: Convolve | null = null,
): Float32Array {
  const { up, down } = ratioOf(options);
  if (up === down) return inputs;
  const filter = filterFor(up, down);
  const outputs = new Float32Array(Math.max(0, end - start));
  const first = Math.floor((start * down) / up);
  if (convolve !== null && filter.table !== null) {
    convolve(filter.table, filter.tapCount, up, down, start * down - first * up, inputs, outputs);
    return outputs;
  }
  const wholeStep = Math.floor(down / up);
  const phaseStep = down % up;
  let position = 0;
  let phase = start * down - first * up;
  for (let i = 0; i < outputs.length; i++) {
    outputs[i] = filter.apply(inputs, position, phase);
    position += wholeStep;
    phase += phaseStep;
    if (phase >= up) {
      phase -= up;
      position++;
    }
  }
  return outputs;
}

/** Changes the sample rate of a whole recording. */
export function resample(samples: Float32Array, options: ResampleOptions): Float32Array {
  const resampler = new Resampler(options);
  const head = resampler.push(samples);
  const tail = resampler.flush();
  const whole = new Float32Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  return whole;
}

interface Filter {
  /** A multiple of 4. */
  readonly tapCount: number;
  /** `[up, tapCount]`, where each phase has a row. */
  readonly table: Float32Array | null;
  /** Sums `tapCount` weighted samples from `start` on, for a fraction of `phase / up` samples. */
  apply(samples: Float32Array, start: number, phase: number): number;
}

const filters = new Map<string, Filter>();

/** Caches tables by ratio: a service uses few ratios, and each table takes milliseconds. */
function filterFor(up: number, down: number): Filter {
  const key = `${up}/${down}`;
  const known = filters.get(key);
  if (known !== undefined) return known;
  if (filters.size >= 16) filters.clear();
  const filter = up <= MAX_PHASES ? exactFilter(up, down) : interpolatedFilter(up, down);
  filters.set(key, filter);
  return filter;
}

function exactFilter(up: number, down: number): Filter {
  const tapCount = tapCountFor(up, down);
  const table = new Float32Array(up * tapCount);
  for (let phase = 0; phase < up; phase++) fillTaps(table, phase * tapCount, phase / up, up, down, tapCount);
  return {
    tapCount,
    table,
    apply: (samples, start, phase) => dot(table, phase * tapCount, samples, start, tapCount),
  };
}

function interpolatedFilter(up: number, down: number): Filter {
  const tapCount = tapCountFor(up, down);
  const table = new Float32Array((MAX_PHASES + 1) * tapCount);
  for (let row = 0; row <= MAX_PHASES; row++)
    fillTaps(table, row * tapCount, row / MAX_PHASES, up, down, tapCount);
  const apply: Filter["apply"] = (samples, start, phase) => {
    const place = (phase / up) * MAX_PHASES;
    const row = Math.floor(place);
    const low = dot(table, row * tapCount, samples, start, tapCount);
    const high = dot(table, (row + 1) * tapCount, samples, start, tapCount);
    return low + (high - low) * (place - row);
  };
  return { tapCount, table: null, apply };
}

function tapCountFor(up: number, down: number): number {
  return 4 * Math.ceil((ZERO_CROSSINGS / 2) * Math.max(1, down / up));
}

/** Computes taps for a position `fraction` of a sample after the middle, scaled to keep a constant signal. */
function fillTaps(
  table: Float32Array,
  at: number,
  fraction: number,
  up: number,
  down: number,
  tapCount: number,
): void {
  // The pass band ends half a transition before the lower Nyquist frequency, so that nothing folds back.
  const transition = (STOP_BAND_DB - 7.95) / (14.36 * 2 * ZERO_CROSSINGS);
  const cutoff = Math.min(1, up / down) * (1 - transition);
  const half = tapCount / 2;
  const taps = new Float64Array(tapCount);
  // Rotate the sine from tap to tap instead of computing it: a table has up to 200,000 taps.
  const turn = Math.PI * cutoff;
  const [turnSine, turnCosine] = [Math.sin(turn), Math.cos(turn)];
  const first = (1 - half - fraction) * turn;
  let [sine, cosine] = [Math.sin(first), Math.cos(first)];
  let sum = 0;
  for (let i = 0; i < tapCount; i++) {
    const distance = i - half + 1 - fraction;
    const angle = distance * turn;
    const sinc = Math.abs(angle) < 1e-9 ? 1 : sine / angle;
    taps[i] = sinc * kaiser(1 - (distance / half) ** 2);
    sum += taps[i]!;
    [sine, cosine] = [sine * turnCosine + cosine * turnSine, cosine * turnCosine - sine * turnSine];
  }
  for (let i = 0; i < tapCount; i++) table[at + i] = taps[i]! / sum;
}

function dot(table: Float32Array, at: number, samples: Float32Array, start: number, count: number): number {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  // `count` is a multiple of 4; four sums allow four multiplications in parallel.
  for (let i = 0; i < count; i += 4) {
    first += table[at + i]! * samples[start + i]!;
    second += table[at + i + 1]! * samples[start + i + 1]!;
    third += table[at + i + 2]! * samples[start + i + 2]!;
    fourth += table[at + i + 3]! * samples[start + i + 3]!;
  }
  return first + second + (third + fourth);
}

const KAISER_BETA = 0.1102 * (STOP_BAND_DB - 8.7);
/** Terms of the series of the modified Bessel function of order 0; the rest is below 1e-16 of the sum. */
const BESSEL_TERMS = 30;
const KAISER_COEFFICIENTS = kaiserCoefficients();

/** Kaiser's window, not normalized, as a polynomial in `inside`; the squared position is `1 - inside`. */
function kaiser(inside: number): number {
  const at = Math.max(0, inside);
  let sum = 0;
  for (let k = BESSEL_TERMS - 1; k >= 0; k--) sum = sum * at + KAISER_COEFFICIENTS[k]!;
  return sum;
}

/** I0(beta * sqrt(x)) is the sum of (beta / 2)^2k / (k!)^2 * x^k. */
function kaiserCoefficients(): Float64Array {
  const coefficients = new Float64Array(BESSEL_TERMS);
  let term = 1;
  for (let k = 0; k < BESSEL_TERMS; k++) {
    if (k > 0) term *= (KAISER_BETA / 2 / k) ** 2;
    coefficients[k] = term;
  }
  return coefficients;
}

function ratioOf({ fromHz, toHz }: ResampleOptions): { readonly up: number; readonly down: number } {
  for (const rateHz of [fromHz, toHz]) {
    if (Number.isInteger(rateHz) && rateHz >= RATE_HZ.min && rateHz <= RATE_HZ.max) continue;
    const rule = `sampleRateHz must be an integer from ${RATE_HZ.min} to ${RATE_HZ.max}, received ${rateHz}`;
    throw new ServiceError("AUDIO_UNREADABLE", `cannot resample: ${rule}`);
  }
  const divisor = greatestCommonDivisor(fromHz, toHz);
  return { up: toHz / divisor, down: fromHz / divisor };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
