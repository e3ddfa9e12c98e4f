import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MODULES } from "./modules.js";
import { ROOT } from "./sources.js";

/** The top-level folders from top to bottom. Each imports only those after it. */
export const LAYERS = [
  { folders: ["bench", "test"], holds: "measurements and tests" },
  { folders: ["src"], holds: "the service around the engine: HTTP, sockets, store, console, client" },
  { folders: ["actors"], holds: "one actor per session, one engine per kind of work" },
  { folders: ["native"], holds: "worker threads: graphs, rings, searches" },
  { folders: ["core"], holds: "what everything else stands on" },
] as const;

const PATHS = [
  { page: "live", title: "Live: a PCM message to its final" },
  { page: "synthesis", title: "Synthesis: a text to its first sound" },
  { page: "transcription", title: "Transcription: a file to its words" },
] as const;

/** Draws the pictures of the architecture as SVG, by their path from the repository's root. */
export function pictures(): ReadonlyMap<string, string> {
  return new Map([
    ["docs/pictures/layers.svg", layersPicture()],
    ["docs/pictures/paths.svg", pathsPicture()],
  ]);
}

const WIDTH = 760;
const BOX_HEIGHT = 26;
const STYLE = `
  text { fill: #1d2530; } .faint { fill: #5b6675; } .back { fill: #fff; }
  .arrow { stroke: #5b6675; fill: none; stroke-width: 1.5; } .head { fill: #5b6675; }
  .bench { fill: #eef0f3; stroke: #b9c0ca; } .src { fill: #dcebf9; stroke: #7fb2de; }
  .actors { fill: #e2f3e4; stroke: #86c08d; } .native { fill: #fdeedd; stroke: #dfab70; }
  .core { fill: #ece5f8; stroke: #a98fd6; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9ee; } .faint { fill: #9aa5b4; } .back { fill: #16181c; }
    .arrow { stroke: #9aa5b4; } .head { fill: #9aa5b4; }
    .bench { fill: #24282e; stroke: #505a67; } .src { fill: #15314b; stroke: #3f78ab; }
    .actors { fill: #17361c; stroke: #4a8a52; } .native { fill: #402b13; stroke: #a8743a; }
    .core { fill: #2c2145; stroke: #7a5fb0; }
  }`;

interface Box {
  readonly text: string;
  readonly layer: string;
}

/** Draws the modules of each layer, and arrows from layer to layer. */
function layersPicture(): string {
  const parts: string[] = [];
  let y = 16;
  for (const [index, { folders, holds }] of LAYERS.entries()) {
    const name = folders.join(", ");
    const boxes = modulesIn(folders).map((text): Box => ({ text, layer: folders[0] }));
    parts.push(`<text x="20" y="${y + 14}" font-size="15" font-weight="600">${name}</text>`);
    parts.push(`<text class="faint" x="${36 + 9 * name.length}" y="${y + 14}">${escaped(holds)}</text>`);
    const drawn = flow(boxes, y + 24, null);
    parts.push(...drawn.parts);
    y = drawn.bottom + (index < LAYERS.length - 1 ? 40 : 16);
    if (index < LAYERS.length - 1) parts.push(...arrow(40, y - 34, y - 8));
  }
  return svg("Layers and their modules; imports point down only", y, parts);
}

/** The names of a layer's modules, without nested ones. */
function modulesIn(folders: readonly string[]): readonly string[] {
  const names = folders.flatMap((folder) =>
    MODULES.flatMap((module) => module.folders)
      .map((name) => name.replace("/**", ""))
      .filter((name) => name.startsWith(`${folder}/`) && !name.endsWith(".ts"))
      .map((name) => name.split("/")[1] ?? ""),
  );
  return [...new Set(names)].sort();
}

/** Draws for each path the modules on its page, in order and coloured by layer. */
function pathsPicture(): string {
  const parts: string[] = [];
  let y = 16;
  for (const { page, title } of PATHS) {
    parts.push(`<text x="20" y="${y + 14}" font-size="15" font-weight="600">${title}</text>`);
    const boxes = stationsOf(page).map(
      (module): Box => ({ text: module, layer: module.split("/")[0] ?? "" }),
    );
    const drawn = flow(boxes, y + 24, "→");
    parts.push(...drawn.parts);
    y = drawn.bottom + 24;
  }
  return svg("The modules that each path passes, in order", y, parts);
}

/** The steps of the page, without the modules that all others use. */
function stationsOf(page: string): readonly string[] {
  const [, steps = ""] = readFileSync(join(ROOT, `docs/paths/${page}.md`), "utf8").split(/^(?=1\. )/m);
  const folders = MODULES.flatMap((module) => module.folders).map((name) => name.replace("/**", ""));
  const named = [...steps.matchAll(/`((?:src|actors|native)\/[\w./-]+)`/g)].map(([, path = ""]) => path);
  const stations = named.map((path) => {
    const holders = folders.filter((folder) => path.startsWith(`${folder}/`));
    return holders.reduce((longest, folder) => (folder.length > longest.length ? folder : longest), "");
  });
  return [...new Set(stations)];
}

/** Draws boxes in rows from left to right, with `between` drawn between neighbours. */
function flow(
  boxes: readonly Box[],
  top: number,
  between: string | null,
): { readonly parts: readonly string[]; readonly bottom: number } {
  const gap = between === null ? 8 : 24;
  const parts: string[] = [];
  let x = 20;
  let y = top;
  for (const [index, { text, layer }] of boxes.entries()) {
    const width = 18 + Math.round(6.9 * text.length);
    if (x + width > WIDTH - 20) {
      x = 20;
      y += BOX_HEIGHT + 8;
    }
    parts.push(
      `<rect class="${layer}" x="${x}" y="${y}" width="${width}" height="${BOX_HEIGHT}" rx="6"/>`,
      `<text x="${x + width / 2}" y="${y + 17}" text-anchor="middle">${escaped(text)}</text>`,
    );
    x += width + gap;
    if (between !== null && index < boxes.length - 1)
      parts.push(
        `<text class="faint" x="${x - gap / 2}" y="${y + 17}" text-anchor="middle">${between}</text>`,
      );
  }
  return { parts, bottom: y + BOX_HEIGHT };
}

function arrow(x: number, from: number, to: number): readonly string[] {
  return [
    `<path class="arrow" d="M${x} ${from}V${to - 6}"/>`,
    `<path class="head" d="M${x - 5} ${to - 7}h10l-5 8z"/>`,
  ];
}

function svg(title: string, height: number, parts: readonly string[]): string {
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="back" width="100%" height="100%"/>`,
    ...parts,
    "</svg>",
  ];
  return `${lines.join("\n")}\n`;
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
}
