/** Level of digital silence, and the lowest that is told apart from it. */
const SILENCE_DB = -100;
/** Samples that are added up before neighbours are compared. */
const BLOCK = 4;

/**
 * Level of samples in dB of full scale, around 1.4 kHz: sums of four samples less the sums before them. Hum, fans and wind lie
 * below that, the clicks of keys and dishes above, so both count for little beside a voice.
 *
 * @param samples mono, -1 to 1, 16 kHz
 */
export function levelDb(samples: Float32Array, start = 0, end = samples.length): number {
  let energy = 0;
  let before = Number.NaN;
  let count = 0;
  for (let i = start; i + BLOCK <= end; i += BLOCK) {
    const sum = samples[i]! + samples[i + 1]! + samples[i + 2]! + samples[i + 3]!;
    if (count++ > 0) energy += (sum - before) * (sum - before);
    before = sum;
  }
  const power = count > 1 ? energy / ((count - 1) * BLOCK * BLOCK) : 0;
  return power > 0 ? Math.max(SILENCE_DB, 10 * Math.log10(power)) : SILENCE_DB;
}
