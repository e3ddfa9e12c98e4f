/**
 * Positions and shapes of mel bands.
 * - `htk`: HTK's mel scale, triangles linear in frequency, height 1 (torchaudio's default)
 * - `slaney`: Slaney's scale, triangles linear in frequency, area 1 (librosa's default, NeMo)
 * - `kaldi`: HTK's scale, triangles linear in mel, height 1, without the Nyquist bin
 */
type MelShape = "htk" | "slaney" | "kaldi";

export interface MelFilterbankOptions {
  readonly shape: MelShape;
  readonly bins: number;
  readonly fftSamples: number;
  readonly sampleRateHz: number;
  readonly lowHz: number;
  readonly highHz: number;
}

/** Overlapping bands over a power spectrum; keeps only weights above zero. */
export class MelFilterbank {
  readonly bins: number;
  readonly #firstBins: Int32Array;
  readonly #weights: readonly Float64Array[];

  constructor(options: MelFilterbankOptions) {
    this.bins = options.bins;
    this.#firstBins = new Int32Array(options.bins);
    this.#weights = Array.from({ length: options.bins }, (_, band) => {
      const weights = weightsOf(band, options);
      const isPositive = (weight: number) => weight > 0;
      const first = Math.max(0, weights.findIndex(isPositive));
      this.#firstBins[band] = first;
      return Float64Array.from(weights.slice(first, weights.findLastIndex(isPositive) + 1));
    });
  }

  /** Energy of a band in `power`, `[fftSamples / 2 + 1]`. */
  energy(power: Float64Array, band: number): number {
    const weights = this.#weights[band]!;
    const first = this.#firstBins[band]!;
    let sum = 0;
    for (let i = 0; i < weights.length; i++) sum += weights[i]! * power[first + i]!;
    return sum;
  }
}

function weightsOf(band: number, options: MelFilterbankOptions): number[] {
  const { shape, bins, fftSamples, sampleRateHz, lowHz, highHz } = options;
  const toMel = shape === "slaney" ? slaneyMel : htkMel;
  const low = toMel(lowHz);
  const delta = (toMel(highHz) - low) / (bins + 1);
  const edges = [band, band + 1, band + 2].map((point) => low + point * delta);
  const scale = shape === "kaldi" ? toMel : (hz: number) => hz;
  const fromMel = shape === "slaney" ? slaneyHz : htkHz;
  const [left, centre, right] = (shape === "kaldi" ? edges : edges.map(fromMel)) as [number, number, number];
  const height = shape === "slaney" ? 2 / (right - left) : 1;
  const count = (fftSamples >> 1) + (shape === "kaldi" ? 0 : 1);
  return Array.from({ length: count }, (_, bin) => {
    const at = scale((bin * sampleRateHz) / fftSamples);
    return height * Math.max(0, Math.min((at - left) / (centre - left), (right - at) / (right - centre)));
  });
}

function htkMel(hz: number): number {
  return 1127 * Math.log(1 + hz / 700);
}

function htkHz(mel: number): number {
  return 700 * (Math.exp(mel / 1127) - 1);
}

/** Slaney's scale: linear up to 1 kHz (15 mel), then 27 mel for a factor of 6.4. */
const SLANEY_HZ_PER_MEL = 200 / 3;
const SLANEY_LOG_STEP = Math.log(6.4) / 27;

function slaneyMel(hz: number): number {
  return hz < 1_000 ? hz / SLANEY_HZ_PER_MEL : 15 + Math.log(hz / 1_000) / SLANEY_LOG_STEP;
}

function slaneyHz(mel: number): number {
  return mel < 15 ? mel * SLANEY_HZ_PER_MEL : 1_000 * Math.exp((mel - 15) * SLANEY_LOG_STEP);
}
