import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import { recognizerFamilyOf } from "../../../native/models/families.js";
import { type CatalogueEntry, readCatalogue, variantsOf } from "../../../src/models/catalogue.js";
import { addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import { temporaryFolder } from "../../support/folders.js";
import { LocalHub, sha256 } from "../../support/local-hub.js";
import { COMMIT } from "../../support/tiny-catalogue.js";
import { TINY_PACKAGES } from "../../support/tiny-packages.js";

const STREAMING = (await readCatalogue()).filter(({ task, family }) => {
  return task === "transcription" && recognizerFamilyOf({ family: family! }).can.streams;
});

/** Returns the entry with the files of its family's tiny package, and a repository that contains them. */
async function tinyInstead(entry: CatalogueEntry) {
  const [variant] = variantsOf(entry);
  const tiny = TINY_PACKAGES.find(({ manifest }) => manifest.family === entry.family)!;
  const source = entry.source as { readonly repository: string; readonly revision: string | null };
  const served: Record<string, Uint8Array> = {};
  const files: Record<string, CatalogueEntry["variants"][string]["files"][string]> = {};
  for (const [name, file] of Object.entries(entry.variants[variant!]!.files)) {
    const bytes = await readFile(join(tiny.folder, tiny.manifest.files[name]!.path));
    served[file.from] = bytes;
    files[name] = { ...file, bytes: bytes.length, sha256: file.sha256 === null ? null : sha256(bytes) };
  }
  return {
    variant: variant!,
    isPinned: Object.values(files).every((file) => file.sha256 !== null),
    entry: { ...entry, variants: { [variant!]: { files } } },
    repositories: { [source.repository]: { commit: source.revision ?? COMMIT, files: served } },
  };
}

for (const shipped of STREAMING) {
  test(`${shipped.name} is added from a hub with the paths of its entry, and streams`, async () => {
    const { entry, variant, isPinned, repositories } = await tinyInstead(shipped);
    const hub = await LocalHub.start(repositories);
    try {
      const folder = await temporaryFolder();
      const job = {
        catalogue: [entry],
        ...{ entry, variant, vad: "near", from: null, signal: new AbortController().signal },
        folders: { read: [folder], install: folder },
        hub: readHubOptions({ HF_ENDPOINT: hub.endpoint }),
        retry: { tries: 1, firstPauseMs: 1 },
        observer: { progress: () => {}, note: () => {} },
      };
      if (!isPinned) await assert.rejects(addFromCatalogue({ ...job, isTrusted: false }), /--trust/);
      await addFromCatalogue({ ...job, isTrusted: !isPinned });
      const { model } = await recognizerIn(join(folder, shipped.name));
      const { frames } = await model.decodeUtterance(new Float32Array(16_000).fill(0.1));
      assert.ok(frames > 10 && model.reader !== null);
      await model.release();
    } finally {
      await hub.stop();
    }
  });
}
