/** Joins pieces of PCM, with silence at the end. */
export function concatenatePcm(pieces: readonly Int16Array[], silenceSamples = 0): Int16Array {
  const whole = new Int16Array(pieces.reduce((total, piece) => total + piece.length, silenceSamples));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

/** Samples in -1 to 1 as 16 bits; what lies beyond is clipped. */
export function toInt16(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    pcm[i] = Math.max(-32_768, Math.min(32_767, Math.round(samples[i]! * 32_768)));
  }
  return pcm;
}

/** 16-bit samples as floats in -1 to 1. */
export function toFloat(pcm: Int16Array): Float32Array {
  const samples = new Float32Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) samples[i] = pcm[i]! / 32_768;
  return samples;
}
