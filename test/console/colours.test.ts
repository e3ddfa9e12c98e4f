import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const CSS = readFileSync(
  fileURLToPath(new URL("../../../src/console/pages/style/base.css", import.meta.url)),
  "utf8",
);
const THEMES = ["light", "dark"] as const;
/** WCAG 2.2, level AA: 1.4.3 for text, 1.4.11 for graphics. */
const TEXT = 4.5;
const GRAPHICS = 3;

const PAIRS: readonly (readonly [front: string, back: string, least: number])[] = [
  ...["ink", "soft", "accent", "wrong", "good"].flatMap((front) =>
    ["page", "card", "sunken"].map((back) => [front, back, TEXT] as const),
  ),
  ["on-accent", "accent", TEXT],
  ["accent", "tint", TEXT],
  ["soft", "tint", TEXT],
  ["wrong", "wrong-tint", TEXT],
  ["wrong", "warning-tint", TEXT],
  ["ink", "warning-tint", TEXT],
  ...["line-strong", "busy", "kind-synthesis", "kind-file", "kind-live"].map(
    (front) => [front, "card", GRAPHICS] as const,
  ),
];

for (const [place, theme] of THEMES.entries()) {
  test(`colours of the ${theme} theme have enough contrast with their backgrounds`, () => {
    const weak = PAIRS.map(([front, back, least]) => {
      return {
        pair: `${front} on ${back}`,
        ratio: contrast(colour(front, place), colour(back, place)),
        least,
      };
    }).filter(({ ratio, least }) => ratio < least);
    assert.deepEqual(weak, []);
  });
}

function colour(name: string, place: number): string {
  const found = new RegExp(`--${name}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\);`).exec(CSS);
  return found?.[place + 1] ?? assert.fail(`no colour --${name}`);
}

/** Returns the contrast ratio of two colours, 1 to 21 (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
