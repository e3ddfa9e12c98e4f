/** Name of a result, and the machine on which it was measured. */
export interface PlotOrigin {
  readonly name: string;
  readonly machine: { readonly cpu: string; readonly cores: number };
}

/** Width of every plot in its own units. On a 390 px phone, text of 14 units is 12.4 px high. */
export const WIDTH = 440;
/** Width in pixels where the page has room. */
const SHOWN_WIDTH = 560;
const LINE_HEIGHT = 18;
const CHARACTER_WIDTH = 8;
/** Minimum distance between the labels of neighbouring columns. */
const COLUMN_GAP = 30;
const STYLE = `
  text { fill: #1d2530; } .faint { fill: #5b6675; } .back { fill: #fff; } .grid { stroke: #dfe3e8; }
  .limit { stroke: #5b6675; stroke-dasharray: 3 4; }
  .a { stroke: #1b6ca8; fill: #1b6ca8; } .b { stroke: #c2452d; fill: #c2452d; } .c { stroke: #8a6d00; fill: #8a6d00; }
  text.a, text.b, text.c, rect { stroke: none; } .tail { stroke-dasharray: 6 4; } polyline.line { fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9ee; } .faint { fill: #9aa5b4; } .back { fill: #16181c; } .grid { stroke: #363c45; }
    .limit { stroke: #9aa5b4; }
    .a { stroke: #5cb3f0; fill: #5cb3f0; } .b { stroke: #f08a72; fill: #f08a72; } .c { stroke: #d8b847; fill: #d8b847; }
  }`;

/** Colours of series: ours, the one compared with, and a third. */
export type Colour = "a" | "b" | "c";

/** Maps a value to a position in the plot. Values outside the domain are moved to its edge. */
export type Scale = (value: number) => number;

export interface Panel {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface LegendEntry {
  readonly label: string;
  readonly colour: Colour;
  readonly mark: "line" | "tail" | "bar" | "dot";
}

type Range = readonly [from: number, to: number];

/**
 * Maps `domain` to `range`, linearly in `by` of the value: the value itself, its logarithm or its square
 * root.
 */
export function scale(domain: Range, range: Range, by = (value: number) => value): Scale {
  const [from, to] = [by(domain[0]), by(domain[1])];
  return (value) => {
    const share = Math.min(1, Math.max(0, (by(value) - from) / (to - from)));
    return rounded(range[0] + share * (range[1] - range[0]));
  };
}

/** Returns about `count` round ticks from 0. The last one is at or above `highest`. */
export function ticksTo(highest: number, count: number): readonly Tick[] {
  const rough = highest / count;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 2.5, 5].find((factor) => factor * magnitude >= rough) ?? 10);
  const steps = Math.ceil(highest / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, nth) => tick(Number((nth * step).toPrecision(6))));
}

export function tick(at: number): Tick {
  return { at, label: String(at) };
}

/** A tick at each different value, ascending. */
export function ticksAt(values: readonly number[]): readonly Tick[] {
  return [...new Set(values)].sort((a, b) => a - b).map(tick);
}

export function lastOf(ticks: readonly Tick[]): number {
  return ticks.at(-1)?.at ?? 1;
}

/** Draws vertical lines with labels below. Labels that would touch the previous one are omitted. */
export function columns(panel: Panel, x: Scale, ticks: readonly Tick[]): readonly string[] {
  let last = Number.NEGATIVE_INFINITY;
  return ticks.flatMap(({ at, label }) => {
    const here = x(at);
    const line = `<line class="grid" x1="${here}" x2="${here}" y1="${panel.top}" y2="${panel.bottom}"/>`;
    if (here - last < COLUMN_GAP) return [line];
    last = here;
    return [line, text(here, panel.bottom + 17, label, { anchor: "middle" })];
  });
}

/** Draws horizontal lines with labels on the left. */
export function rows(panel: Panel, y: Scale, ticks: readonly Tick[]): readonly string[] {
  return ticks.flatMap(({ at, label }) => [
    `<line class="grid" x1="${panel.left}" x2="${panel.right}" y1="${y(at)}" y2="${y(at)}"/>`,
    text(panel.left - 7, y(at) + 5, label, { anchor: "end" }),
  ]);
}

/** Draws a line through points, dashed for a tail percentile. */
export function curve(
  points: readonly { readonly x: number; readonly y: number }[],
  colour: Colour,
  mark: "line" | "tail" = "line",
): readonly string[] {
  const path = points.map(({ x, y }) => `${x},${y}`).join(" ");
  return [
    `<polyline class="line ${colour} ${mark}" stroke-width="2.5" points="${path}"/>`,
    ...points.map(({ x, y }) => dot(x, y, colour, mark === "line" ? 3.5 : 2.5)),
  ];
}

/** A median over its tail percentile. */
export function medianAndTail(
  points: readonly { readonly x: number; readonly median: number; readonly tail: number }[],
  colour: Colour,
): readonly string[] {
  return [
    ...curve(
      points.map(({ x, tail }) => ({ x, y: tail })),
      colour,
      "tail",
    ),
    ...curve(
      points.map(({ x, median }) => ({ x, y: median })),
      colour,
    ),
  ];
}

/** A horizontal line with a dot at the median and, if `end` is given, a short vertical mark there. */
export function interval(
  y: number,
  {
    from,
    middle,
    to,
    end,
  }: { readonly from: number; readonly middle: number; readonly to: number; readonly end?: number },
  colour: Colour,
): readonly string[] {
  return [
    `<line class="${colour}" stroke-width="3" x1="${from}" x2="${to}" y1="${y}" y2="${y}"/>`,
    dot(middle, y, colour, 4.5),
    ...(end === undefined ? [] : [upright(end, y, colour)]),
  ];
}

function dot(x: number, y: number, colour: Colour, radius: number): string {
  return `<circle class="${colour}" cx="${x}" cy="${y}" r="${radius}"/>`;
}

export function upright(x: number, y: number, colour: Colour): string {
  return `<line class="${colour}" stroke-width="2" x1="${x}" x2="${x}" y1="${y - 6}" y2="${y + 6}"/>`;
}

export function bar(
  {
    x,
    y,
    width,
    height,
  }: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
  colour: Colour,
): string {
  return `<rect class="${colour}" x="${x}" y="${y}" width="${rounded(width)}" height="${height}"/>`;
}

/** Draws a dashed line across a panel at a limit. */
export function limit(panel: Panel, y: number): string {
  return `<line class="limit" x1="${panel.left}" x2="${panel.right}" y1="${y}" y2="${y}"/>`;
}

export function text(
  x: number,
  y: number,
  content: string,
  {
    anchor = "start",
    kind = "",
  }: { readonly anchor?: "start" | "middle" | "end"; readonly kind?: string } = {},
): string {
  const attributes = `${anchor === "start" ? "" : ` text-anchor="${anchor}"`}${kind === "" ? "" : ` class="${kind}"`}`;
  return `<text x="${rounded(x)}" y="${rounded(y)}"${attributes}>${escaped(content)}</text>`;
}

/** Draws samples of lines, bars and dots with their names, from left to right, in as many rows as needed. */
export function legend(
  entries: readonly LegendEntry[],
  x: number,
  y: number,
): { readonly parts: readonly string[]; readonly bottom: number } {
  const parts: string[] = [];
  let [left, base] = [x, y];
  for (const { label, colour, mark } of entries) {
    const width = 30 + label.length * CHARACTER_WIDTH + 14;
    if (left > x && left + width > WIDTH) [left, base] = [x, base + LINE_HEIGHT];
    parts.push(sample(left, base - 5, colour, mark), text(left + 30, base, label));
    left += width;
  }
  return { parts, bottom: base + LINE_HEIGHT };
}

function sample(x: number, y: number, colour: Colour, mark: LegendEntry["mark"]): string {
  if (mark === "bar") return bar({ x, y: y - 5, width: 24, height: 10 }, colour);
  if (mark === "dot") return dot(x + 12, y, colour, 4.5);
  return `<line class="${colour} ${mark}" stroke-width="2.5" x1="${x}" x2="${x + 24}" y1="${y}" y2="${y}"/>`;
}

/**
 * Assembles a picture: title and legend at the top, then the output of `draw`, then the results' sources and
 * machines.
 */
export function picture(
  {
    title,
    entries,
    results,
  }: {
    readonly title: string;
    readonly entries: readonly LegendEntry[];
    readonly results: readonly PlotOrigin[];
  },
  draw: (top: number) => { readonly parts: readonly string[]; readonly bottom: number },
): string {
  const head = legend(entries, 12, 50);
  const body = draw(entries.length === 0 ? 40 : head.bottom);
  const origins = originLines(results);
  const height = body.bottom + origins.length * LINE_HEIGHT + 12;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${SHOWN_WIDTH}" height="${Math.round((height * SHOWN_WIDTH) / WIDTH)}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="14">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="back" width="100%" height="100%"/>`,
    `<text x="12" y="24" font-size="15" font-weight="600">${escaped(title)}</text>`,
    ...head.parts,
    ...body.parts,
    ...origins.map((line, nth) =>
      text(12, body.bottom + (nth + 1) * LINE_HEIGHT - 2, line, { kind: "faint" }),
    ),
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}

/** Lists machines, each with the results measured on it. */
function originLines(results: readonly PlotOrigin[]): readonly string[] {
  const machines = new Map<string, string[]>();
  for (const { name, machine } of results) {
    const cpu = machine.cpu.replace(/\(R\)|\(TM\)|Processor|@/g, " ").replace(/\s+/g, " ");
    const key = `${cpu.replace(/(\d)GHz/, "$1 GHz").trim()}, ${machine.cores} cores`;
    machines.set(key, [...(machines.get(key) ?? []), name]);
  }
  return [...machines].map(([machine, names]) => `${names.join(", ")}: ${machine}`);
}

function rounded(value: number): number {
  return Math.round(10 * value) / 10;
}

function escaped(content: string): string {
  return content.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
