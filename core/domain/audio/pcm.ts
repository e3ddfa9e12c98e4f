/** Joins pieces of PCM and appends silence. */
export function concatenatePcm(pieces: readonly Int16Array[], silenceSamples = 0): Int16Array {
  const whole = new Int16Array(pieces.reduce((total, piece) => total + piece.length, silenceSamples));
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}

export function joinedBytes(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

/** Converts samples in -1 to 1 to 16 bits, with clipping. */
export function toInt16(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    pcm[i] = Math.max(-32_768, Math.min(32_767, Math.round(samples[i]! * 32_768)));
  }
  return pcm;
}

/** Converts 16-bit samples to floats in -1 to 1. */
export function toFloat(pcm: Int16Array): Float32Array {
  const samples = new Float32Array(pcm.length);
  for (let i = 0; i < pcm.length; i++) samples[i] = pcm[i]! / 32_768;
  return samples;
}

/** Rounds samples in -1 to 1 to 16-bit precision. */
export function roundedTo16Bits(samples: Float32Array): Float32Array {
  return toFloat(toInt16(samples));
}

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Returns the little-endian bytes of samples; on a little-endian machine the same memory, not a copy. */
export function littleEndianBytes(pcm: Int16Array): Uint8Array {
  if (IS_LITTLE_ENDIAN) return new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  const view = new DataView(new ArrayBuffer(pcm.byteLength));
  for (let i = 0; i < pcm.length; i++) view.setInt16(i * 2, pcm[i]!, true);
  return new Uint8Array(view.buffer);
}
