import type { Estimate } from "../../core/domain/statistics/bootstrap.js";

/** Renders a Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** Formats a share as per cent with one decimal. */
export function percent(share: number): string {
  return (100 * share).toFixed(1);
}

/** Formats an estimate as per cent, its interval without decimals. */
export function percentWithInterval({ value, low, high }: Estimate): string {
  return `${percent(value)} (${Math.round(100 * low)}–${Math.round(100 * high)})`;
}
