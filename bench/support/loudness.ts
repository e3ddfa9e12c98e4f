/** Length of a block; each starts 100 ms after the previous one. */
const BLOCK_SECONDS = 0.4;
const STEP_SECONDS = 0.1;
const ABSOLUTE_GATE_LUFS = -70;
const RELATIVE_GATE_LU = -10;

interface Biquad {
  readonly b: readonly [number, number, number];
  readonly a: readonly [number, number];
}

/**
 * Computes the integrated loudness of mono speech in LUFS; minus infinity for silence.
 * @param pcm -1 to 1
 * @see ITU-R BS.1770-4: K-weighting, mean square of 400 ms blocks, gates at -70 LUFS and 10 LU below the mean
 */
export function integratedLoudness(pcm: Float32Array, sampleRateHz: number): number {
  const weighted = filtered(filtered(pcm, shelf(sampleRateHz)), highPass(sampleRateHz));
  const block = Math.min(weighted.length, Math.round(BLOCK_SECONDS * sampleRateHz));
  const step = Math.round(STEP_SECONDS * sampleRateHz);
  const powers: number[] = [];
  for (let start = 0; block > 0 && start + block <= weighted.length; start += step) {
    let sum = 0;
    for (let i = start; i < start + block; i++) sum += weighted[i]! ** 2;
    powers.push(sum / block);
  }
  const loud = powers.filter((power) => toLufs(power) > ABSOLUTE_GATE_LUFS);
  const gate = toLufs(mean(loud)) + RELATIVE_GATE_LU;
  return toLufs(mean(loud.filter((power) => toLufs(power) > gate)));
}

/** Returns the standard's weight of a frequency, as a factor of power. */
export function kWeight(frequencyHz: number, sampleRateHz: number): number {
  const angle = (2 * Math.PI * frequencyHz) / sampleRateHz;
  return powerAt(shelf(sampleRateHz), angle) * powerAt(highPass(sampleRateHz), angle);
}

function powerAt({ b, a }: Biquad, angle: number): number {
  const power = (c0: number, c1: number, c2: number) =>
    (c0 + c1 * Math.cos(angle) + c2 * Math.cos(2 * angle)) ** 2 +
    (c1 * Math.sin(angle) + c2 * Math.sin(2 * angle)) ** 2;
  return power(...b) / power(1, ...a);
}

function toLufs(power: number): number {
  return -0.691 + 10 * Math.log10(power);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/**
 * Returns the high shelf at 1.68 kHz, which models the head: the standard's coefficients for 48 kHz, from
 * their analogue prototype at any rate.
 */
function shelf(sampleRateHz: number): Biquad {
  const gain = 10 ** (3.999843853973347 / 20);
  const k = Math.tan((Math.PI * 1681.974450955533) / sampleRateHz);
  const q = 0.7071752369554196;
  const middle = gain ** 0.4996667741545416;
  const a0 = 1 + k / q + k * k;
  return {
    b: [
      (gain + (middle * k) / q + k * k) / a0,
      (2 * (k * k - gain)) / a0,
      (gain - (middle * k) / q + k * k) / a0,
    ],
    a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0],
  };
}

/** Returns the second stage: a high-pass at 38 Hz. */
function highPass(sampleRateHz: number): Biquad {
  const k = Math.tan((Math.PI * 38.13547087602444) / sampleRateHz);
  const q = 0.5003270373238773;
  const a0 = 1 + k / q + k * k;
  return { b: [1, -2, 1], a: [(2 * (k * k - 1)) / a0, (1 - k / q + k * k) / a0] };
}

function filtered(pcm: Float32Array, { b, a }: Biquad): Float32Array {
  const out = new Float32Array(pcm.length);
  let [x1, x2, y1, y2] = [0, 0, 0, 0];
  for (let i = 0; i < pcm.length; i++) {
    const x = pcm[i]!;
    const y = b[0] * x + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2;
    [x2, x1, y2, y1] = [x1, x, y1, y];
    out[i] = y;
  }
  return out;
}
