/**
 * Returns the times of the solver's steps, from 0 (noise) to 1 (speech): `nfe + 1` values, ascending.
 *
 * Sway sampling moves steps towards the noisy end, where the flow bends most.
 * @param sway -1 for the full sway, 0 for equal steps
 * @see Chen et al., "F5-TTS", 2024, equation 7
 */
export function swaySchedule(nfe: number, sway: number): Float64Array {
  const times = new Float64Array(nfe + 1);
  for (let step = 0; step <= nfe; step++) {
    const t = step / nfe;
    times[step] = t + sway * (Math.cos((Math.PI / 2) * t) - 1 + t);
  }
  return times;
}

/** A package's solver steps. */
export interface SolverSchedule {
  /** Used for numbers of steps without listed times; see `swaySchedule`. */
  readonly sway: number;
  /**
   * Step times by number of steps, found by search: closer to the many-step result than the sway's.
   */
  readonly times?: Readonly<Record<string, readonly number[]>> | undefined;
}

/** Returns the times of `nfe` steps: the package's list, or else its sway. */
export function solverTimes(nfe: number, { sway, times }: SolverSchedule): Float64Array {
  const listed = times?.[nfe];
  return listed === undefined ? swaySchedule(nfe, sway) : Float64Array.from(listed);
}
