/**
 * Fades a part of a piece at the piece's ends, in place, with half a cosine: neither the signal nor its slope
 * jumps at the border to digital silence.
 *
 * @param part samples `[offset, offset + part.length)` of the piece
 * @param fade.samples length of each fade
 */
export function fadeEnds(
  part: Float32Array,
  fade: { readonly offset: number; readonly pieceSamples: number; readonly samples: number },
): void {
  const { offset, pieceSamples, samples } = fade;
  for (let i = 0; i < part.length && offset + i < samples; i++) part[i]! *= gain(offset + i, samples);
  const fadeOut = Math.max(0, pieceSamples - samples - offset);
  for (let i = fadeOut; i < part.length; i++) part[i]! *= gain(pieceSamples - 1 - offset - i, samples);
}

function gain(position: number, samples: number): number {
  return 0.5 - 0.5 * Math.cos((Math.PI * (position + 0.5)) / samples);
}
