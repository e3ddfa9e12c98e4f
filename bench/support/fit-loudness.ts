import { Fft } from "../../core/domain/audio/fft.js";
import { MelFilterbank } from "../../core/domain/audio/mel-filterbank.js";
import { type LoudnessModel, melLevelDb } from "../../core/domain/synthesis/loudness.js";
import type { PieceTrim } from "../../core/domain/synthesis/silence.js";
import type { MelSynthesizerManifest } from "../../native/models/manifest.js";
import { integratedLoudness, kWeight } from "./loudness.js";

/** A synthesized piece and the mel spectrogram it comes from. */
export interface LevelSample {
  readonly voice: string;
  /** `[frames, melBins]`, normalised log-mel of the whole piece. */
  readonly mel: Float32Array;
  readonly trim: PieceTrim;
  /** All samples of the piece, including the silence around it. */
  readonly pcm: Float32Array;
}

/** Parameters of the mel spectrogram in training: `models/recipes/synthesizer/features.py`. */
const WINDOW_SAMPLES = 1_024;
const HIGH_HZ = 12_000;
const FLOOR = 1e-4;
/**
 * Upper limit of the normalised log-mel. Without it, a sentence with bands at 3 becomes 1.8 LU too quiet; of
 * 1.6 to 2.6, this value has the smallest errors on sentences used neither for fitting nor for measuring.
 */
const CEILING = 2.2;
/** Number of frames to skip at both ends of a piece, which are faded, or half of whose window is silence. */
const EDGE_FRAMES = 3;

/**
 * Learns to predict the loudness of a mel spectrogram. Per band, the log-mel of the spoken samples is a line
 * over the normalised log-mel that they were synthesized from; the scatter around the line adds to the mean
 * power, which the intercept includes. The remaining error is one number per voice.
 */
export function fitLoudness(
  samples: readonly LevelSample[],
  manifest: MelSynthesizerManifest,
): LoudnessModel {
  const { melBins, hopSamples, sampleRateHz } = manifest;
  const lines = Array.from({ length: melBins }, () => new Line());
  for (const sample of samples) addFrames(lines, sample, manifest);
  const weights = bandWeights(melBins, sampleRateHz);
  const model = {
    ceiling: CEILING,
    slopes: lines.map((line) => rounded(2 * line.slope)),
    intercepts: lines.map((line, band) =>
      rounded(2 * (line.intercept + line.variance) + Math.log(weights[band]!)),
    ),
  };
  const voices = [...new Set(samples.map(({ voice }) => voice))];
  const levels = samples.map((sample) => integratedLoudness(sample.pcm, sampleRateHz));
  const offsetOf = (voice: string) =>
    mean(
      samples.flatMap((sample, i) =>
        sample.voice === voice
          ? [levels[i]! - melLevelDb(sample.mel, sample.trim, model, hopSamples / sampleRateHz)]
          : [],
      ),
    );
  return {
    targetLufs: rounded(mean(levels)),
    ...model,
    voiceLufs: Object.fromEntries(voices.map((voice) => [voice, rounded(offsetOf(voice))])),
  };
}

/**
 * Adds the log-mel of a piece's samples, frame by frame, paired with the mel that they were synthesized from.
 */
function addFrames(
  lines: readonly Line[],
  { mel, trim, pcm }: LevelSample,
  { melBins, hopSamples, sampleRateHz }: MelSynthesizerManifest,
): void {
  const fft = new Fft(WINDOW_SAMPLES);
  const bank = new MelFilterbank({
    shape: "slaney",
    bins: melBins,
    fftSamples: WINDOW_SAMPLES,
    sampleRateHz,
    lowHz: 0,
    highHz: HIGH_HZ,
  });
  const frame = new Float64Array(WINDOW_SAMPLES);
  const spectrum = new Float64Array(WINDOW_SAMPLES / 2 + 1);
  for (let index = trim.start + EDGE_FRAMES; index < trim.stop - EDGE_FRAMES; index++) {
    // Each frame is centred on its hop.
    const centre = (trim.silentFramesBefore + index - trim.start + 0.5) * hopSamples;
    for (let i = 0; i < WINDOW_SAMPLES; i++) {
      const hann = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW_SAMPLES);
      frame[i] = hann * (pcm[centre - WINDOW_SAMPLES / 2 + i] ?? 0);
    }
    fft.powerSpectrum(frame, spectrum);
    for (let bin = 0; bin < spectrum.length; bin++) spectrum[bin] = Math.sqrt(spectrum[bin]!);
    for (let band = 0; band < melBins; band++) {
      lines[band]!.add(mel[index * melBins + band]!, Math.log(Math.max(FLOOR, bank.energy(spectrum, band))));
    }
  }
}

/**
 * Returns the K-weight at the middle of each band times its width: bands of unit area average over their
 * range.
 */
function bandWeights(bands: number, sampleRateHz: number): number[] {
  const edges = melEdgesHz(bands);
  return Array.from({ length: bands }, (_, band) => {
    return kWeight(edges[band + 1]!, sampleRateHz) * ((edges[band + 2]! - edges[band]!) / 2);
  });
}

/**
 * Returns band edges on Slaney's scale: linear below 1 kHz, which is 15 mel; 27 mel for a factor of 6.4
 * above.
 */
function melEdgesHz(bands: number): number[] {
  const highMel = 15 + (27 * Math.log(HIGH_HZ / 1_000)) / Math.log(6.4);
  return Array.from({ length: bands + 2 }, (_, i) => {
    const mel = (i * highMel) / (bands + 1);
    return mel < 15 ? (mel * 200) / 3 : 1_000 * Math.exp(((mel - 15) * Math.log(6.4)) / 27);
  });
}

/** A least-squares line, fitted point by point. */
class Line {
  #count = 0;
  #x = 0;
  #y = 0;
  #xx = 0;
  #xy = 0;
  #yy = 0;

  add(x: number, y: number): void {
    this.#count++;
    this.#x += x;
    this.#y += y;
    this.#xx += x * x;
    this.#xy += x * y;
    this.#yy += y * y;
  }

  get slope(): number {
    return (this.#count * this.#xy - this.#x * this.#y) / (this.#count * this.#xx - this.#x ** 2);
  }

  get intercept(): number {
    return (this.#y - this.slope * this.#x) / this.#count;
  }

  /** Variance of the points around the line. */
  get variance(): number {
    const ofY = this.#yy / this.#count - (this.#y / this.#count) ** 2;
    const ofX = this.#xx / this.#count - (this.#x / this.#count) ** 2;
    return ofY - this.slope ** 2 * ofX;
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
