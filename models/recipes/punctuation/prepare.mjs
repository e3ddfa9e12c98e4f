// Turns the text corpora into training lines for the punctuation model: spoken words with the mark after each and its case.
//
//   node models/recipes/punctuation/prepare.mjs OUT     (after `npm run build`; 20 s)
//
// OUT/train.tsv, test.tsv, heldout-{kk,ru,mixed}.tsv: source, split of the line, then `word|mark|case` separated by spaces.
// Numbers in Kazakh lines are spelled out by the service's own normalizer; Russian lines with digits and lines with Latin
// letters are left out. One line in 50 goes to the test split, together with lines that differ from it only
// in figures.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const { normalizeKazakh } = await import(`${root}/dist/core/domain/text/kazakh/normalize.js`);
const out = process.argv[2] ?? `${root}/models/recipes/.cache/punctuation`;
mkdirSync(out, { recursive: true });

/** Where each source of a corpus ends (line, inclusive), as the corpora's SOURCES.md lists them. */
const SOURCES = {
  kk: [
    [6045, "proverbs"],
    [10000, "tatoeba"],
    [12203, "abai"],
    [34112, "news"],
    [35673, "ntrex"],
    [36713, "ktb"],
    [57401, "wiki"],
    [69662, "docs"],
    [109478, "reviews"],
  ],
  ru: [
    [32113, "common-voice"],
    [33765, "ntrex"],
    [34694, "gsd"],
    [38112, "taiga"],
    [39041, "pud"],
    [83893, "samples"],
    [108788, "jokes"],
    [148655, "ruslit"],
  ],
  "kk-ru-mixed": [[9986, "mixed"]],
};
const MARKS = new Map([
  [",", ","],
  [".", "."],
  ["…", "."],
  ["?", "?"],
  ["!", "."],
  [":", ":"],
  [";", ","],
  ["—", "-"],
  ["–", "-"],
  ["-", "-"],
]);
const TEST_SHARE = 50;

const heldOut = new Set();
for (const set of ["kk-heldout", "ru-heldout", "mixed-heldout"]) {
  const lines = corpus(set);
  for (const line of lines) heldOut.add(keyOf(line));
  write(
    `heldout-${set.split("-")[0]}`,
    lines.map((line) => example(line, set.startsWith("ru") ? "ru" : "kk", "heldout")).filter(Boolean),
  );
}

const [train, test] = [[], []];
for (const [name, sources] of Object.entries(SOURCES)) {
  const lines = corpus(name);
  let source = 0;
  for (const [at, line] of lines.entries()) {
    while (at >= sources[source][0]) source++;
    if (heldOut.has(keyOf(line))) continue;
    const text = example(line, name === "ru" ? "ru" : "kk", `${name === "kk-ru-mixed" ? "mixed" : name}/${sources[source][1]}`);
    if (text === null) continue;
    (hash(keyOf(line)) % TEST_SHARE === 0 ? test : train).push(text);
  }
}
write("train", train);
write("test", test);
console.log({ train: train.length, test: test.length });

function corpus(name) {
  const packed = readFileSync(`${root}/models/recipes/data/text/${name}.txt.br`);
  return brotliDecompressSync(packed).toString("utf8").trimEnd().split("\n");
}

function write(name, lines) {
  writeFileSync(`${out}/${name}.tsv`, `${lines.join("\n")}\n`);
}

/** Formats a line as `source<TAB>word|mark|case …`; null if it cannot be used. */
function example(line, language, source) {
  if (/[A-Za-z]/.test(line) || (language === "ru" && /\d/.test(line))) return null;
  const words = /\d/.test(line) ? spelled(line) : plain(line, 0);
  if (words === null || words.length < 2) return null;
  return `${source}\t${words.map(({ word, mark, cased }) => `${word}|${mark}|${cased}`).join(" ")}`;
}

/**
 * Splits a line into words with the first mark after each. Hyphens inside words are marks too: a recogniser
 * writes none.
 */
function plain(text) {
  const found = [];
  for (const match of text.matchAll(/[\p{L}\p{M}]+/gu)) {
    const written = match[0];
    const next = match.index + written.length;
    const behind = /^[^\p{L}\p{M}\d]*/u.exec(text.slice(next))[0];
    found.push({ word: written.toLowerCase().replaceAll("ё", "е"), mark: markIn(behind), cased: caseOf(written) });
  }
  return found;
}

function markIn(behind) {
  const marks = [...behind].map((sign) => MARKS.get(sign)).filter(Boolean);
  if (marks.length === 0) return "";
  // A full stop wins over a direct-speech dash that follows it; a hyphen without spaces joins words.
  const stop = marks.find((mark) => mark === "?" || mark === ".");
  if (stop !== undefined) return stop;
  if (marks[0] === "-") return /^[-–]/.test(behind) && !/\s/.test(behind) ? "-" : "—";
  return marks[0];
}

function caseOf(written) {
  const [first] = written;
  if (first === first.toLowerCase()) return "l";
  return written.length > 1 && written === written.toUpperCase() ? "U" : "C";
}

/** For a line with figures: every spoken word gets the case and the mark of its written form. */
function spelled(line) {
  const { spoken, words } = normalizeKazakh(line, { expand: true });
  const found = [];
  for (const [at, { spokenStart, spokenEnd, start, end }] of words.entries()) {
    const isLast = words[at + 1]?.start !== start;
    const written = line.slice(start, end);
    const next = words[at + 1]?.start ?? line.length;
    const behind = isLast ? line.slice(end, next) : "";
    const said = spoken.slice(spokenStart, spokenEnd).toLowerCase();
    for (const [nth, word] of said.split("-").entries()) {
      if (!/^[\p{L}]+$/u.test(word)) return null;
      const isLastPart = nth === said.split("-").length - 1;
      const letters = /\d/.test(written) ? "" : written.replace(/[^\p{L}]/gu, "");
      const cased = letters === "" || !isLast || said.includes("-") ? (nth === 0 && letters !== "" ? caseOf(letters) : "l") : caseOf(letters);
      found.push({ word: word.replaceAll("ё", "е"), mark: isLastPart ? markIn(behind) : "-", cased });
    }
  }
  return found;
}

function keyOf(line) {
  return line.toLowerCase().replace(/[^\p{L}]/gu, "");
}

function hash(text) {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}
