import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { test } from "node:test";
import { openApiDocument } from "../../core/protocol/openapi.js";
import {
  anchorsOf,
  codeSpans,
  linesOf,
  ROOT,
  read,
  relativeLinks,
  repositoryFiles,
  section,
} from "./markdown.js";

const FILES = repositoryFiles().filter((name) => existsSync(join(ROOT, name)));
const KNOWN = new Set(FILES);
const BASENAMES = new Set(FILES.map((name) => basename(name)));
const DOCUMENTS = FILES.filter((name) => name.endsWith(".md"));
/** Pages for users, without those that follow requests through the files, which belong to ARCHITECTURE. */
const PAGES = DOCUMENTS.filter((name) => /^docs\/([\w-]+|examples\/README)\.md$/.test(name));
const LONGEST_LINE = 110;
const LONGEST_PAGE = 250;
/** Phrases that hide the actor or are not English. */
const FORBIDDEN = /\bwhoever\b|\banew\b|\bthe begin\b|\b(has|have) them not\b|\bat (its|their|his) peril\b/i;
const OURS = /^(src|actors|native|core|test|bench|models|scripts|docs)\/[\w./-]+$/;
/** Files of other projects, and files that readers create. */
const NOT_HERE = new Set(["Export_F5.py", "models/my-package"]);

/** Lists every line that breaks a rule, so that one run shows all of them. */
function broken(rule: (line: string, isCode: boolean) => boolean): readonly string[] {
  return DOCUMENTS.flatMap((document) =>
    linesOf(read(document))
      .filter(({ text, isCode }) => rule(text, isCode))
      .map(({ number, text }) => `${document}:${number}: ${text.slice(0, 120)}`),
  );
}

test("every relative link leads to an existing file and heading", () => {
  const lost = DOCUMENTS.flatMap((document) =>
    relativeLinks(read(document))
      .filter((target) => !leadsSomewhere(target, document))
      .map((target) => `${document} links to ${target}`),
  );
  assert.deepEqual(lost, []);
});

function leadsSomewhere(target: string, document: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? document : posix.join(posix.dirname(document), decodeURIComponent(path));
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsOf(read(file)).has(anchor);
}

test("every file and folder of ours that a document mentions exists", () => {
  const lost = DOCUMENTS.flatMap((document) =>
    codeSpans(read(document))
      .filter((span) => !isThere(span, document))
      .map((span) => `${document} names ${span}`),
  );
  assert.deepEqual(lost, []);
});

function isThere(span: string, document: string): boolean {
  if (NOT_HERE.has(span)) return true;
  if (/^[\w-]+\.(ts|mjs|cc|py|sh)$/.test(span)) return BASENAMES.has(span);
  if (!OURS.test(span)) return true;
  const path = span.replace(/\/$/, "");
  return [path, posix.join(posix.dirname(document), path)].some(
    (candidate) => KNOWN.has(candidate) || FILES.some((name) => name.startsWith(`${candidate}/`)),
  );
}

test("README is short, links to every page of docs, and starts with the models' limits", () => {
  const readme = read("README.md");
  const lines = readme.trimEnd().split("\n");
  assert.ok(lines.length <= 100, `${lines.length} lines`);
  const links = relativeLinks(readme).map((target) => target.split("#")[0]);
  assert.ok(PAGES.length >= 9, `${PAGES.length} pages`);
  for (const page of PAGES) assert.ok(links.includes(page), `README.md does not link to ${page}`);
  const opening = readme.split("\n## ")[0]!.replaceAll("\n", " ");
  assert.match(opening, /on recordings of people it gets 19 to 63 % of characters wrong/);
  for (const command of ["npm ci && npm start", "npm ci && npm test"]) assert.ok(readme.includes(command));
});

test("pages for readers have at most 250 lines", () => {
  const long = PAGES.filter((page) => read(page).trimEnd().split("\n").length > LONGEST_PAGE);
  assert.deepEqual(long, []);
});

test("each measured line of README links to a result, and each page with measurements names one", () => {
  const measured = section(read("README.md"), "## Why Dauys").split("\n- ").slice(1);
  assert.equal(measured.length, 5);
  const named = ["docs/benchmarks.md", "docs/sizing.md"].map((page) => codeSpans(read(page)));
  for (const targets of [...measured.map(relativeLinks), ...named]) {
    const results = targets.filter((target) => /^(bench|models)\/.+\.json$/.test(target));
    assert.ok(results.length > 0, `no result among ${targets.join(", ")}`);
    for (const result of results) assert.ok(KNOWN.has(result), result);
  }
});

test("every saved result is on the benchmarks page", () => {
  const results = FILES.filter((name) =>
    /^bench\/results\/.+\.json$|^models\/[^/]+\/evaluation\.json$/.test(name),
  );
  const page = read("docs/benchmarks.md");
  assert.deepEqual(
    results.filter((name) => !page.includes(`\`${name}\``)),
    [],
  );
});

test(`prose has at most ${LONGEST_LINE} columns`, () => {
  // Tables and single long words cannot be broken.
  const cannotBreak = (line: string) => /^\s*\||^\s*([-*] )?\S+$/.test(line);
  assert.deepEqual(
    broken((line, isCode) => !isCode && [...line].length > LONGEST_LINE && !cannotBreak(line)),
    [],
  );
});

test("documents contain no phrase that hides the actor", () => {
  assert.deepEqual(
    broken((line) => FORBIDDEN.test(line)),
    [],
  );
});

test("the reference of a running service follows the same rules", () => {
  const sentences = JSON.stringify(openApiDocument()).split(/(?<=\.) /);
  assert.ok(sentences.length > 10);
  assert.deepEqual(
    sentences.filter((sentence) => FORBIDDEN.test(sentence)),
    [],
  );
});
