import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Where `npm run docs` writes the settings, with their names, defaults and meanings. */
const SETTINGS_PART = "<!-- settings: npm run docs -->";
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test("documents that are made from the service's lists are up to date", () => {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/docs.mjs", "--check"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});

test("a document shows every setting", () => {
  const documents = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)];
  const tables = documents.filter((path) => path.endsWith(".md") && read(path).includes(SETTINGS_PART));
  assert.equal(tables.length, 1, "one document has the table");
});

test("every relative link of the documents leads to a file", () => {
  for (const document of ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "models/recipes/README.md"]) {
    const folder = join(ROOT, document, "..");
    for (const [, target] of read(document).matchAll(/\]\((?!https?:)([^)#]+)\)/g)) {
      assert.ok(existsSync(join(folder, target!)), `${document} links to ${target}`);
    }
  }
});

test("a number that README quotes names a result that is in the repository", () => {
  const measured = read("README.md").split("## Measured")[1]!.split("\n## ")[0]!;
  const files = [...measured.matchAll(/`((?:bench\/results|models)\/[^`]+\.json)`/g)].map(
    (match) => match[1]!,
  );
  assert.ok(files.length >= 2, "results are named");
  for (const file of files) assert.ok(existsSync(join(ROOT, file)), file);
});
