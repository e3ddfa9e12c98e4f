const WINDOW_SAMPLES = 1_024;
const HOP_SAMPLES = 256;
const BANDS = 80;
const MAX_HZ = 12_000;
/** Number of coefficients compared, without the zeroth, which is loudness. */
const COEFFICIENTS = 13;
const FLOOR = 1e-4;
/** Factor from the Euclidean distance of two rows of cepstra to decibels. */
const DECIBELS = (10 / Math.LN10) * Math.SQRT2;

/** Returns the middle of each of `melCepstra`'s hops, in seconds. */
export function hopCentres(count: number, sampleRateHz: number): number[] {
  return Array.from({ length: count }, (_, i) => (i * HOP_SAMPLES + WINDOW_SAMPLES / 2) / sampleRateHz);
}

/** Computes mel cepstra 1 to 13 of every hop of 24 kHz audio, `[frames][13]`. */
export function melCepstra(pcm: Float32Array, sampleRateHz: number): Float64Array[] {
  const window = Float64Array.from(
    { length: WINDOW_SAMPLES },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW_SAMPLES),
  );
  const bands = melBands(sampleRateHz);
  const rows: Float64Array[] = [];
  const real = new Float64Array(WINDOW_SAMPLES);
  const imaginary = new Float64Array(WINDOW_SAMPLES);
  for (let start = 0; start + WINDOW_SAMPLES <= pcm.length; start += HOP_SAMPLES) {
    for (let i = 0; i < WINDOW_SAMPLES; i++) real[i] = pcm[start + i]! * window[i]!;
    imaginary.fill(0);
    fft(real, imaginary);
    const logs = bands.map(({ first, weights }) => {
      let sum = 0;
      for (let i = 0; i < weights.length; i++) {
        sum += weights[i]! * Math.hypot(real[first + i]!, imaginary[first + i]!);
      }
      return Math.log(Math.max(sum, FLOOR));
    });
    rows.push(cosineSeries(logs));
  }
  return rows;
}

/** The cheapest time warping of one utterance onto another. */
export interface Warping {
  /** Mean mel-cepstral distortion along the path, dB. */
  readonly distortionDb: number;
  /** Aligned pairs of hops, in order of time. */
  readonly pairs: readonly (readonly [from: number, to: number])[];
}

/**
 * Mel-cepstral distortion in dB between two utterances of different pace, and the hops that it compares.
 * @see Kubichek, "Mel-cepstral distance measure for objective speech quality assessment", 1993
 */
export function warp(from: readonly Float64Array[], to: readonly Float64Array[]): Warping {
  const width = to.length + 1;
  let costs = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  costs[0] = 0;
  // Predecessor of each cell: 0 diagonal, 1 previous `from`, 2 previous `to`.
  const steps = new Uint8Array((from.length + 1) * width);
  for (const [i, row] of from.entries()) {
    const nextCosts = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
    for (let j = 1; j < width; j++) {
      const [diagonal, up, left] = [costs[j - 1]!, costs[j]!, nextCosts[j - 1]!];
      const best = Math.min(diagonal, up, left);
      steps[(i + 1) * width + j] = best === diagonal ? 0 : best === up ? 1 : 2;
      nextCosts[j] = best + DECIBELS * distance(row, to[j - 1]!);
    }
    costs = nextCosts;
  }
  const pairs: [number, number][] = [];
  for (let [i, j] = [from.length, to.length]; i > 0 && j > 0; ) {
    pairs.push([i - 1, j - 1]);
    const step = steps[i * width + j]!;
    if (step !== 2) i--;
    if (step !== 1) j--;
  }
  return { distortionDb: costs[to.length]! / Math.max(1, pairs.length), pairs: pairs.reverse() };
}

function distance(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) ** 2;
  return Math.sqrt(sum);
}

/**
 * Cosine series of a log spectrum, coefficients 1 to 13: spectrum = sum of coefficient * cosine, as in MCD's
 * formula.
 */
function cosineSeries(values: readonly number[]): Float64Array {
  return Float64Array.from({ length: COEFFICIENTS }, (_, index) => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) {
      sum += values[i]! * Math.cos((Math.PI * (index + 1) * (i + 0.5)) / values.length);
    }
    return (2 * sum) / values.length;
  });
}

/** Triangles, evenly spaced on the mel scale, each with the first bin it covers. */
function melBands(sampleRateHz: number): { first: number; weights: Float64Array }[] {
  const toMel = (hz: number) => 1127 * Math.log1p(hz / 700);
  const top = toMel(Math.min(MAX_HZ, sampleRateHz / 2));
  const edge = (i: number) => 700 * Math.expm1((top * i) / (BANDS + 1) / 1127);
  const binHz = sampleRateHz / WINDOW_SAMPLES;
  return Array.from({ length: BANDS }, (_, band) => {
    const [low, middle, high] = [edge(band), edge(band + 1), edge(band + 2)];
    const first = Math.floor(low / binHz);
    const last = Math.min(WINDOW_SAMPLES / 2, Math.ceil(high / binHz));
    const weights = Float64Array.from({ length: last - first + 1 }, (_, i) => {
      const hz = (first + i) * binHz;
      return Math.max(0, Math.min((hz - low) / (middle - low), (high - hz) / (high - middle)));
    });
    return { first, weights };
  });
}

/** Transforms in place, radix 2. */
function fft(real: Float64Array, imaginary: Float64Array): void {
  const size = real.length;
  for (let i = 1, j = 0; i < size; i++) {
    let bit = size >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      [real[i], real[j]] = [real[j]!, real[i]!];
      [imaginary[i], imaginary[j]] = [imaginary[j]!, imaginary[i]!];
    }
  }
  for (let span = 2; span <= size; span *= 2) {
    const angle = (-2 * Math.PI) / span;
    for (let k = 0; k < span / 2; k++) {
      const [cosine, sine] = [Math.cos(angle * k), Math.sin(angle * k)];
      for (let i = k; i < size; i += span) {
        const j = i + span / 2;
        const re = real[j]! * cosine - imaginary[j]! * sine;
        const im = real[j]! * sine + imaginary[j]! * cosine;
        [real[j], imaginary[j]] = [real[i]! - re, imaginary[i]! - im];
        [real[i], imaginary[i]] = [real[i]! + re, imaginary[i]! + im];
      }
    }
  }
}
