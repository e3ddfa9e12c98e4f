import assert from "node:assert/strict";
import { copyFile, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { diarizationFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { DiarizationManifest } from "../../../native/models/manifest.js";
import { type CatalogueEntry, readCatalogue } from "../../../src/models/catalogue.js";
import { addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import { temporaryFolder } from "../../support/folders.js";
import { sha256 } from "../../support/local-hub.js";

const TINY = "test/fixtures/adapters/tiny-pyannote";
const CATALOGUE = await readCatalogue();
const ENTRIES = CATALOGUE.filter(({ task }) => task === "diarization");

test("the catalogue has models for diarization, every file with its hash", () => {
  assert.deepEqual(
    ENTRIES.map(({ name }) => name),
    ["speakers-eres2net", "speakers-campplus"],
  );
  const parts = CATALOGUE.filter(({ name }) => name === "pyannote-segmentation");
  for (const { variants, licence } of [...ENTRIES, ...parts]) {
    assert.ok(!licence.isRestricted);
    for (const { sha256: hash } of Object.values(variants["fp32"]!.files)) assert.ok(hash !== null);
  }
});

for (const shipped of ENTRIES) {
  test(`${shipped.name} is added with the paths and fields of its entry, and hears windows`, async () => {
    const [downloads, folder] = [await temporaryFolder(), await temporaryFolder()];
    const part = CATALOGUE.find(({ name }) => name === shipped.needs["segmentation"])!;
    const entry = await withTiny(shipped, "embedding", downloads);
    await addFromCatalogue({
      catalogue: [entry, await withTiny(part, "segmentation", downloads)],
      ...{ entry, variant: "fp32", vad: "near", from: downloads, signal: new AbortController().signal },
      folders: { read: [folder], install: folder },
      hub: readHubOptions({}),
      isTrusted: false,
      retry: { tries: 1, firstPauseMs: 1 },
      observer: { progress: () => {}, note: () => {} },
    });
    const added = await readPackage<DiarizationManifest>(join(folder, shipped.name), "diarization");
    const model = await diarizationFamilyOf(added.manifest).load(added, { intraOpThreads: 1 });
    const { windowSamples } = model.manifest;
    const { frames } = await model.hearWindow(new Float32Array(windowSamples), windowSamples);
    assert.equal(frames.length, 589);
    await model.release();
  });
}

/** Replaces an entry's graph by the tiny one, as if that had been downloaded. */
async function withTiny(entry: CatalogueEntry, graph: string, downloads: string): Promise<CatalogueEntry> {
  const [[name, file]] = Object.entries(entry.variants["fp32"]!.files) as [
    [string, CatalogueEntry["variants"][string]["files"][string]],
  ];
  const path = join(TINY, `${graph}.onnx`);
  const bytes = await readFile(path);
  await copyFile(path, join(downloads, basename(file.from)));
  const files = { [name]: { ...file, bytes: bytes.length, sha256: sha256(bytes) } };
  return { ...entry, variants: { fp32: { files } } };
}
