/** Lowest reported level, also for digital silence. */
const SILENCE_DB = -100;
/** Samples summed to remove frequencies above 2 kHz, where keys and dishes are loud and voices are not. */
const BLOCK = 4;
/** Rate of the running mean that is subtracted to remove frequencies below 200 Hz, mostly fans and wind. */
const SLOWNESS = 0.3;

/**
 * Measures the level of samples in dB of full scale, between 200 Hz and 2 kHz.
 *
 * @param samples mono, -1 to 1, 16 kHz
 */
export function levelDb(samples: Float32Array, start = 0, end = samples.length): number {
  const count = Math.floor((end - start) / BLOCK);
  let slow = count > 0 ? blockAt(samples, start) : 0;
  let energy = 0;
  for (let block = 0; block < count; block++) {
    const above = blockAt(samples, start + block * BLOCK) - slow;
    slow += SLOWNESS * above;
    energy += above * above;
  }
  const power = count > 0 ? energy / (count * BLOCK * BLOCK) : 0;
  return power > 0 ? Math.max(SILENCE_DB, 10 * Math.log10(power)) : SILENCE_DB;
}

function blockAt(samples: Float32Array, at: number): number {
  return samples[at]! + samples[at + 1]! + samples[at + 2]! + samples[at + 3]!;
}
