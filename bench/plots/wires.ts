import { table } from "../evaluate/report.js";
import type { Percentiles } from "../support/percentiles.js";
import { resultOf } from "./results.js";

interface WireFigure {
  readonly wire: string;
  readonly reference: string | null;
  readonly delayMs: Percentiles;
  readonly differenceMs: Percentiles | null;
}

interface WiresResult {
  readonly live: readonly WireFigure[];
  readonly speech: readonly WireFigure[];
}

/**
 * Renders the delay that every protocol adds to ours, from the saved result.
 * @public Used by scripts/docs.mjs.
 */
export function wireTable(): string {
  const { live, speech } = resultOf<WiresResult>("wires");
  const rows = [
    ...live.map((figure) => ["final", ...cells(figure)]),
    ...speech.map((figure) => ["first audio", ...cells(figure)]),
  ];
  const head = ["Delay of the", "over", "p50 / p95, ms", "compared with", "difference, p50, ms"];
  return table(head, rows);
}

function cells({ wire, reference, delayMs, differenceMs }: WireFigure): readonly string[] {
  const named = (name: string) => name.replace(/^(?:POST )?\/[\w/]+/, (path) => `\`${path}\``);
  return [
    named(wire),
    `${Math.round(delayMs.p50)} / ${Math.round(delayMs.p95)}`,
    reference === null ? "" : named(reference),
    differenceMs === null ? "" : differenceMs.p50.toFixed(1),
  ];
}
