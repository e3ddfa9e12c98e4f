import type { LogMelOptions } from "./log-mel.js";

const SAMPLE_RATE_HZ = 16_000;
const HOP_SAMPLES = 160;
/** `std::numeric_limits<float>::epsilon()`. */
const FLOAT_EPSILON = 2 ** -23;

/** Features that public recognizers of 16 kHz speech were trained on, 100 frames a second. */
export type FrontEnd = "gigaam-v2" | "gigaam-v3" | "nemo" | "kaldi";

export const FRONT_ENDS: Readonly<Record<FrontEnd, (bins: number) => LogMelOptions>> = {
  "gigaam-v2": gigaamV2,
  "gigaam-v3": gigaamV3,
  nemo,
  kaldi,
};

/**
 * GigaAM v1 and v2.
 * @see salute-developers/GigaAM at 06f8324, `gigaam/preprocess.py`: torchaudio's MelSpectrogram with
 * n_fft = win_length = 400, centred with reflection, log of the power clamped to 1e-9
 */
function gigaamV2(bins: number): LogMelOptions {
  return {
    windowSamples: 400,
    hopSamples: HOP_SAMPLES,
    window: "hann-periodic",
    mel: melOf("htk", bins, 400, 0, 8_000),
    firstSample: -200,
    edge: "reflect",
    frameCount: (samples) => Math.floor(samples / HOP_SAMPLES) + 1,
    removesOffset: false,
    preemphasis: null,
    floor: { kind: "clamp", value: 1e-9 },
  };
}

/**
 * GigaAM v3, and models with `center: False` and windows of 20 ms in their configuration.
 * @see k2-fsa/sherpa-onnx at 0bfca2c, `scripts/nemo/GigaAM/export-onnx-ctc-v3.py`, which quotes the
 * configuration
 */
function gigaamV3(bins: number): LogMelOptions {
  return {
    ...gigaamV2(bins),
    windowSamples: 320,
    mel: melOf("htk", bins, 320, 0, 8_000),
    firstSample: 0,
    edge: "zeros",
    frameCount: (samples) => Math.floor((samples - 320) / HOP_SAMPLES) + 1,
  };
}

/**
 * NeMo's AudioToMelSpectrogramPreprocessor without its normalization.
 * @see NVIDIA-NeMo/NeMo at 009d1c1, `nemo/collections/asr/parts/preprocessing/features.py`: symmetric Hann of
 * 25 ms, n_fft 512, centred with zeros, preemphasis over the signal, Slaney's bands, log(power + 2^-24),
 * `samples // 160` frames
 */
function nemo(bins: number): LogMelOptions {
  return {
    windowSamples: 400,
    hopSamples: HOP_SAMPLES,
    window: "hann",
    mel: melOf("slaney", bins, 512, 0, 8_000),
    firstSample: -200,
    edge: "zeros",
    frameCount: (samples) => Math.floor(samples / HOP_SAMPLES),
    removesOffset: false,
    preemphasis: { factor: 0.97, scope: "signal" },
    floor: { kind: "add", value: 2 ** -24 },
  };
}

/**
 * Kaldi's filterbank as icefall's recipes use it, on samples of -1 to 1.
 * @see k2-fsa/sherpa-onnx at 06b26fb, `sherpa-onnx/csrc/features.cc` (80 bins, no dither, snip_edges false,
 * 20 Hz to 400 Hz below Nyquist), and kaldi-native-fbank's defaults: Povey window of 25 ms, offset removed,
 * preemphasis 0.97
 */
function kaldi(bins: number): LogMelOptions {
  return {
    windowSamples: 400,
    hopSamples: HOP_SAMPLES,
    window: "povey",
    mel: melOf("kaldi", bins, 512, 20, 7_600),
    firstSample: HOP_SAMPLES / 2 - 200,
    edge: "mirror",
    frameCount: (samples) => Math.floor((samples + HOP_SAMPLES / 2) / HOP_SAMPLES),
    removesOffset: true,
    preemphasis: { factor: 0.97, scope: "frame" },
    floor: { kind: "clamp", value: FLOAT_EPSILON },
  };
}

function melOf(
  shape: LogMelOptions["mel"]["shape"],
  bins: number,
  fftSamples: number,
  lowHz: number,
  highHz: number,
): LogMelOptions["mel"] {
  return { shape, bins, fftSamples, sampleRateHz: SAMPLE_RATE_HZ, lowHz, highHz };
}
