import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { FAMILIES } from "../../native/models/families.js";
import { packageIdOf, readCatalogue, vadsOf, variantsOf, wantedFiles } from "../../src/models/catalogue.js";
import { temporaryFolder } from "../support/folders.js";

const CATALOGUE = await readCatalogue();
const PACKAGES = CATALOGUE.filter(({ task }) => task !== "part").flatMap((entry) =>
  variantsOf(entry).map((variant) => ({ entry, variant, id: packageIdOf(entry, variant) })),
);

test("packages of the catalogue have distinct IDs", () => {
  const ids = PACKAGES.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  for (const id of ["gigaam-multilingual", "gigaam-multilingual-int8", "nvidia-kk-ru", "piper-kk-issai"]) {
    assert.ok(ids.includes(id), id);
  }
});

test("recognisers need no voice activity detector but can include Silero", () => {
  for (const { entry, variant, id } of PACKAGES.filter(({ entry: { task } }) => task === "transcription")) {
    assert.deepEqual(vadsOf(entry), ["near", "silero"], id);
    const namesOf = (vad: string) => wantedFiles(CATALOGUE, entry, variant, vad).map(({ name }) => name);
    assert.deepEqual(namesOf("silero"), [...namesOf("near"), "vad"], id);
  }
});

for (const { entry, variant, id } of PACKAGES) {
  const family = FAMILIES.find(({ name, task }) => name === entry.family && task === entry.task);
  test(`${id} meets the requirements of its family`, async () => {
    assert.ok(family !== undefined, `there is no family ${entry.family}`);
    const { manifest } = await family.schema();
    const files = wantedFiles(CATALOGUE, entry, variant);
    const sealed = files.map(({ name, path, sha256, external }) => [
      name,
      { path, sha256: sha256 ?? "0".repeat(64), external },
    ]);
    const { task, languages, manifest: fields } = entry;
    const value = { id, task, family: entry.family, languages, ...fields, files: Object.fromEntries(sealed) };
    const checked = manifest.safeParse(value, { reportInput: true });
    assert.ok(checked.success, checked.error?.message);
    assert.equal(new Set(files.map(({ path }) => path)).size, files.length);
  });
}

test("an invalid catalogue is rejected with its path and field", async () => {
  const path = join(await temporaryFolder(), "catalogue.json");
  const licence = { name: "MIT", url: "https://example.org", isRestricted: false };
  const source = { repository: "a/b", revision: null };
  const file = (from: string) => ({ from, path: "model.onnx", bytes: null, sha256: null });
  const part = (from: string) => ({
    name: "part",
    task: "part",
    family: null,
    licence,
    source,
    variants: { fp32: { files: { model: file(from) } } },
  });
  for (const [value, rule] of [
    [[part("../x")], /0\.variants\.fp32\.files\.model\.from must be a path inside its folder/],
    [[part("/x")], /must be a path inside its folder/],
    [[part("x"), part("x")], /0\.name part is taken/],
    [[{ ...part("x"), needs: { vad: "gone" } }], /0\.needs\.vad must name a part, found gone/],
    [[{ ...part("x"), vads: { silero: "gone" } }], /0\.vads\.silero must name a part, found gone/],
    [[{ ...part("x"), source: { baseUrl: "ftp://x/" } }], /0\.source\.baseUrl must be an HTTP URL/],
    [[{ ...part("x"), surprise: 1 }], /surprise/],
  ] as const) {
    await writeFile(path, JSON.stringify(value));
    await assert.rejects(readCatalogue(path), (error: Error) => {
      assert.ok(error.message.startsWith(`Cannot use ${path}: `), error.message);
      assert.match(error.message, rule);
      return true;
    });
  }
});
