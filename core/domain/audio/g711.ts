/** A-law and mu-law bytes as samples from -1 to 1. @see ITU-T G.711, 1988. */
export const ALAW_SAMPLES = Float32Array.from({ length: 256 }, (_, byte) => alawSample(byte));
export const MULAW_SAMPLES = Float32Array.from({ length: 256 }, (_, byte) => mulawSample(byte));

function alawSample(byte: number): number {
  const bits = byte ^ 0x55;
  const exponent = (bits & 0x70) >> 4;
  const mantissa = ((bits & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return (bits & 0x80 ? magnitude : -magnitude) / 32_768;
}

function mulawSample(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4)) - 0x84;
  return (bits & 0x80 ? -magnitude : magnitude) / 32_768;
}

const MULAW_BIAS = 0x84;
/** The largest magnitude, including the bias, that mu-law can encode. */
const MULAW_CLIP = 0x7fff - MULAW_BIAS;

/** Encodes 16-bit samples as mu-law. */
export function toMulaw(pcm: Int16Array): Uint8Array {
  return Uint8Array.from(pcm, mulawByte);
}

/** Encodes 16-bit samples as A-law. */
export function toAlaw(pcm: Int16Array): Uint8Array {
  return Uint8Array.from(pcm, alawByte);
}

function mulawByte(sample: number): number {
  const biased = Math.min(Math.abs(sample), MULAW_CLIP) + MULAW_BIAS;
  // The highest bit, 7 to 14, selects the segment; the four bits below it are the position within the
  // segment.
  const segment = 24 - Math.clz32(biased);
  const place = (biased >> (segment + 3)) & 0x0f;
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | place) & 0xff;
}

function alawByte(sample: number): number {
  const isPositive = sample >= 0;
  // Negative samples count from -1, so that both signs have equal steps.
  const magnitude = isPositive ? sample : -sample - 1;
  const segment = Math.max(0, 24 - Math.clz32(magnitude));
  const place = segment === 0 ? magnitude >> 4 : (magnitude >> (segment + 3)) & 0x0f;
  return ((isPositive ? 0x80 : 0) | (segment << 4) | place) ^ 0x55;
}
