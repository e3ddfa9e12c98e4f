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

/** Samples in -1 to 1 as they are after a way through 16 bits. */
export function roundedTo16Bits(samples: Float32Array): Float32Array {
  return toFloat(toInt16(samples));
}

/** Whether samples lie in memory as they do in a file. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The bytes of samples, little-endian. On a little-endian machine they are the same memory, not a copy. */
export function littleEndianBytes(pcm: Int16Array): Uint8Array {
  if (IS_LITTLE_ENDIAN) return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  const view = new DataView(new ArrayBuffer(pcm.byteLength));
  for (let i = 0; i < pcm.length; i++) view.setInt16(i * 2, pcm[i]!, true);
  return new Uint8Array(view.buffer);
}
