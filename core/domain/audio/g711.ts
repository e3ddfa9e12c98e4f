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
