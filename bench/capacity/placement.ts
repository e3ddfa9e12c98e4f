import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { type CellFigures, type Rule, simulateCell } from "../support/cell-simulation.js";
import { percentiles } from "../support/percentiles.js";

const RULES: readonly Rule[] = ["two choices", "least told"];
/** A cell of 48 nodes with four workers each, filled to 0.7. */
const CELL = {
  fronts: 10,
  nodes: 48,
  sessionsPerNode: 600,
  lanesPerFront: 24,
  sessionSeconds: 180,
  replacedAfterSeconds: 20,
} as const;
const WHOLE = { ...CELL, cells: 50, sessions: 20_000, seconds: 600, lossEverySeconds: 60 };
const SMALL = { ...CELL, cells: 2, sessions: 20_000, seconds: 60, lossEverySeconds: 30 };

/**
 * Simulates sessions in cells, with random names and a node lost in each cell every minute: how evenly nodes
 * fill, and which nodes a lost node's sessions move to. `--smoke` simulates two cells for a minute.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const { cells, ...cell } = smoke ? SMALL : WHOLE;
  const shares = cellShares(cells, cells * cell.sessions);
  const rules = RULES.map((rule) => {
    const figures = shares.map((sessions, seed) => simulateCell({ ...cell, sessions, seed, rule }));
    return { rule, ...summary(figures) };
  });
  const cellShare = Math.max(...shares) / cell.sessions;
  console.log(`fullest cell: ${percent(cellShare)} of the mean`);
  for (const { rule, highestShare, herd, mostOnNode, refused, placed } of rules) {
    console.log(
      `${rule}: fullest node ${percent(highestShare.p50)} of the mean (p99 ${percent(highestShare.p99)}, most ${percent(highestShare.most)}), after a loss ` +
        `one node got ${herd.p50.toFixed(1)} even parts (most ${herd.most.toFixed(1)}); at most ${mostOnNode} on one, ` +
        `${refused} of ${placed} refused`,
    );
  }
  if (!smoke) console.log(await saveResult("placement", { parameters: WHOLE, cellShare, rules }));
}

/**
 * Returns the sessions of each cell if each client draws a cell at random: normally distributed, approximated
 * by twelve uniform numbers.
 */
function cellShares(cells: number, sessions: number): readonly number[] {
  const random = uniformRandom(cells);
  const mean = sessions / cells;
  const normal = () => Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
  return Array.from({ length: cells }, () => Math.round(mean + normal() * Math.sqrt(mean)));
}

function summary(figures: readonly CellFigures[]) {
  const shares = figures.flatMap(({ highestShares }) => highestShares);
  const herds = figures.flatMap((cell) => cell.herds);
  return {
    highestShare: { ...percentiles(shares, 4)!, most: shares.reduce((most, share) => Math.max(most, share)) },
    /** Share of the samples taken. */
    withinATenth: shares.filter((share) => share <= 1.1).length / shares.length,
    herd: { ...percentiles(herds, 2)!, most: Math.max(...herds) },
    losses: herds.length,
    mostOnNode: Math.max(...figures.map((cell) => cell.mostOnNode)),
    refused: figures.reduce((sum, { refused }) => sum + refused, 0),
    placed: figures.reduce((sum, { placed }) => sum + placed, 0),
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
