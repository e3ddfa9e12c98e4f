import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository, relative to `dist/test/docs`. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Reads a document of the repository. */
export function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Lists every file in the working tree that git tracks or would track, with `/` between folders. */
export function repositoryFiles(): readonly string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const names = execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 }).split("\0");
  return names.filter((name) => name !== "");
}

/** A line of a document, and whether it is inside a code block. */
export interface Line {
  readonly number: number;
  readonly text: string;
  readonly isCode: boolean;
}

/** Numbers lines from 1. Fences count as code. */
export function linesOf(text: string): readonly Line[] {
  let isOpen = false;
  return text.split("\n").map((line, index) => {
    const isFence = line.trimStart().startsWith("```");
    if (isFence) isOpen = !isOpen;
    return { number: index + 1, text: line, isCode: isOpen || isFence };
  });
}

/**
 * Returns the text below a heading, up to the next one of the same or a higher level. @throws if the heading
 * does not exist
 */
export function section(text: string, heading: string): string {
  const lines = linesOf(text);
  const first = lines.findIndex((line) => !line.isCode && line.text === heading);
  if (first < 0) throw new Error(`there is no heading "${heading}"`);
  const level = /^#+/.exec(heading)![0].length;
  const isNext = (line: Line) => !line.isCode && (/^#+(?= )/.exec(line.text)?.[0].length ?? 9) <= level;
  const end = lines.findIndex((line, index) => index > first && isNext(line));
  const inside = lines.slice(first + 1, end < 0 ? undefined : end);
  return inside.map((line) => line.text).join("\n");
}

/** Returns the rows of all tables as trimmed cells, without header rows. */
export function tableRows(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  for (const { text: line, isCode } of linesOf(text)) {
    if (isCode || !line.startsWith("|")) continue;
    // The row of dashes comes after the header row.
    if (/^\|[-:| ]+\|$/.test(line)) rows.pop();
    else rows.push(cellsOf(line));
  }
  return rows;
}

function cellsOf(line: string): string[] {
  const inside = line.slice(1, line.trimEnd().length - 1);
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

/** Returns the code spans in prose and tables, in order. */
export function codeSpans(text: string): readonly string[] {
  const prose = linesOf(text).map((line) => (line.isCode ? "" : line.text));
  return [...prose.join("\n").matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
}

/** Returns the targets of relative links and of images. */
export function relativeLinks(text: string): readonly string[] {
  const prose = linesOf(text).map((line) => (line.isCode ? "" : line.text.replaceAll(/`[^`]*`/g, "")));
  const targets = [...prose.join("\n").matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1]!);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** Returns the anchors of a document's headings, as the repository's host generates them. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const headings = linesOf(text).filter((line) => !line.isCode && /^#+ /.test(line.text));
  return new Set(
    headings.map(({ text: heading }) =>
      heading
        .replace(/^#+ /, "")
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\- _]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
