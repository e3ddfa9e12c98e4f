import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

test("README lists exactly the settings that the service reads", () => {
  const settings = read("README.md").split("## Settings")[1]!.split("\n## ")[0]!;
  const listed = [...settings.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap((row) =>
    [...row[1]!.matchAll(/`([A-Z_]+)`/g)].map((name) => name[1]!),
  );
  const used = [...read("src/settings/settings.ts").matchAll(/read\("([A-Z_]+)"\)/g)].map((name) => name[1]!);
  assert.ok(used.length > 10, "settings were found in the source");
  assert.deepEqual(listed.sort(), [...new Set(used)].sort());
});

test("tests start services without any setting of whoever runs them", () => {
  const cleared = read("scripts/test.mjs").split("const SERVICE_SETTINGS = [")[1]!.split("\n];")[0]!;
  for (const [, name] of read("src/settings/settings.ts").matchAll(/read\("([A-Z_]+)"\)/g))
    assert.ok(cleared.includes(`"${name}"`), name);
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
