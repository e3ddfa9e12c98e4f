// Counts phrases in comments and documents that sound translated, and fails above the limits (`npm run
// lint`). The phrases are from the style guide; a few lines may keep one where it is the best wording.
import { execFileSync } from "node:child_process";

const PHRASES = [
  String.raw`\b(is|are|was|were) told\b`,
  String.raw`\bwhoever\b`,
  String.raw`\banew\b`,
  String.raw`\bthe begin\b`,
  String.raw`\bof (its|their) own\b`,
  String.raw`/\*\* What `,
  "^ *// What ",
  String.raw`\bbehind (it|them)\b`,
  String.raw`\bcomes? out\b`,
].join("|");

const AREAS = [
  { name: "documents", paths: ["*.md"], limit: 5 },
  { name: "core, native, actors and src", paths: ["core", "native", "actors", "src", ":!*.md"], limit: 80 },
];

let hasFailed = false;
for (const { name, paths, limit } of AREAS) {
  const lines = matchingLines(paths);
  if (lines.length <= limit) continue;
  hasFailed = true;
  console.error(lines.join("\n"));
  console.error(
    `${name}: ${lines.length} lines with phrases to rewrite, ${limit} allowed (scripts/check-prose.mjs)`,
  );
}
process.exitCode = hasFailed ? 1 : 0;

function matchingLines(paths) {
  try {
    const options = { encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "inherit"] };
    const text = execFileSync("git", ["grep", "-nIE", PHRASES, "--", ...paths], options);
    return text.trimEnd().split("\n");
  } catch (error) {
    // git grep exits with 1 if nothing matches.
    if (error.status === 1) return [];
    throw error;
  }
}
