/**
 * Returns the sample at a position of the test signal. Neighbours differ, and so do samples that are one ring
 * apart.
 */
export function sampleAt(position: number): number {
  return (Math.imul(position, 0x9e3779b1) >> 13) % 32_768;
}
