import { type Knee, type LevelResult, MAIN_METRIC, type Scenario } from "./result.js";

const SLOWER = 2;
const FAILED_SHARE = 0.01;
/** Number of loads tried between the last good load and the first bad one. */
const REFINEMENTS = 2;
const STEPS = 5;

/**
 * Returns why a level is past the knee: its p95 is more than twice that of the lowest load, or more than 1 %
 * of it failed or had no final. Null if the level is not past the knee.
 */
export function pastKnee(level: LevelResult, lowest: LevelResult, scenario: Scenario): string | null {
  const name = MAIN_METRIC[scenario];
  const [p95, low] = [level.metrics[name]?.p95.value, lowest.metrics[name]?.p95.value];
  if (level.failed > FAILED_SHARE * level.started) return `${level.failed} of ${level.started} failed`;
  if (level.missed > FAILED_SHARE * level.sentences)
    return `${level.missed} of ${level.sentences} sentences had no final`;
  if (p95 === undefined || low === undefined) return "no value was measured";
  if (p95 > SLOWER * low)
    return `p95 is ${Math.round(p95)} ms, more than twice the ${Math.round(low)} ms of the lowest load`;
  return null;
}

/**
 * Doubles the load up to `most`. After the first level past the knee, tries loads between that one and the
 * last good one.
 *
 * @param run measures a level; null ends the ramp
 */
export async function rampedLevels(
  scenario: Scenario,
  most: number,
  run: (load: number) => Promise<LevelResult | null>,
): Promise<{ readonly levels: readonly LevelResult[]; readonly knee: Knee }> {
  const levels: LevelResult[] = [];
  let below: number | null = null;
  let above: number | null = null;
  let reason: string | null = null;
  const measure = async (load: number): Promise<boolean> => {
    const level = await run(load);
    if (level === null) return false;
    levels.push(level);
    const past = pastKnee(level, levels[0]!, scenario);
    if (past === null) below = load;
    else [above, reason] = [load, past];
    return true;
  };
  let goesOn = true;
  for (const load of doubledLoads(scenario, most)) {
    goesOn = await measure(load);
    if (!goesOn || above !== null) break;
  }
  for (let nth = 0; goesOn && nth < REFINEMENTS; nth++) {
    const load = middle(scenario, below, above);
    if (load === null) break;
    goesOn = await measure(load);
  }
  const rule =
    reason ??
    "no load was past the knee: p95 at most twice that of the lowest load, at most 1 % failed or without a final";
  return { levels: levels.toSorted((a, b) => a.load - b.load), knee: { rule, below, above } };
}

/** Returns loads that double up to `most`. Numbers of sessions are whole. */
export function doubledLoads(scenario: Scenario, most: number): readonly number[] {
  const loads = Array.from({ length: STEPS }, (_, nth) => most / 2 ** (STEPS - 1 - nth));
  return [...new Set(loads.map((load) => rounded(scenario, load)))];
}

function middle(scenario: Scenario, below: number | null, above: number | null): number | null {
  if (below === null || above === null) return null;
  const load = rounded(scenario, (below + above) / 2);
  return load > below && load < above ? load : null;
}

function rounded(scenario: Scenario, load: number): number {
  return scenario === "live" ? Math.ceil(load) : Number(load.toPrecision(3));
}
