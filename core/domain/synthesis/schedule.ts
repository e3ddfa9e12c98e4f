/**
 * Times of the solver's steps, from 0 (noise) to 1 (speech): `nfe + 1` of them, ascending.
 *
 * Sway sampling moves steps towards the noisy end, where the flow turns most.
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

/** How a package takes its solver's steps. */
export interface SolverSchedule {
  /** Where no times are listed; see `swaySchedule`. */
  readonly sway: number;
  /** Times by number of steps, as `swaySchedule` returns them: found by search, nearer to many steps than the sway's. */
  readonly times?: Readonly<Record<string, readonly number[]>> | undefined;
}

/** Times of `nfe` steps: those that the package lists, else by its sway. */
export function solverTimes(nfe: number, { sway, times }: SolverSchedule): Float64Array {
  const listed = times?.[nfe];
  return listed === undefined ? swaySchedule(nfe, sway) : Float64Array.from(listed);
}
