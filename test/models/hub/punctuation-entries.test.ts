import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { punctuationFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { PunctuationManifest } from "../../../native/models/manifest.js";
import { readCatalogue } from "../../../src/models/catalogue.js";
import { addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import { temporaryFolder } from "../../support/folders.js";
import { LocalHub, sha256 } from "../../support/local-hub.js";

const TINY = "test/fixtures/adapters/tiny-punct-cap-seg";
const ENTRIES = (await readCatalogue()).filter(({ task }) => task === "punctuation");

test("the catalogue has public punctuation for Kazakh and Russian, every file with its hash", () => {
  assert.deepEqual(
    ENTRIES.map(({ name }) => name),
    ["punct-cap-seg-47", "xlm-roberta-punctuation"],
  );
  for (const { languages, licence, variants } of ENTRIES) {
    assert.deepEqual([languages, licence.name], [["kk", "ru"], "Apache-2.0"]);
    for (const { sha256: hash, bytes } of Object.values(variants["fp32"]!.files))
      assert.ok(hash !== null && bytes !== null);
  }
});

for (const shipped of ENTRIES) {
  test(`${shipped.name} is added from a hub with the paths and fields of its entry, and punctuates`, async () => {
    const source = shipped.source as { readonly repository: string; readonly revision: string };
    const { model, tokenizer } = shipped.variants["fp32"]!.files;
    const [graph, pieces] = await Promise.all(
      ["model.onnx", "tokenizer.model"].map((name) => readFile(join(TINY, name))),
    );
    const files = {
      model: { ...model!, bytes: graph!.length, sha256: sha256(graph!) },
      tokenizer: { ...tokenizer!, bytes: pieces!.length, sha256: sha256(pieces!) },
    };
    const served = { [model!.from]: graph!, [tokenizer!.from]: pieces! };
    const hub = await LocalHub.start({ [source.repository]: { commit: source.revision, files: served } });
    try {
      const folder = await temporaryFolder();
      const entry = { ...shipped, variants: { fp32: { files } } };
      await addFromCatalogue({
        catalogue: [entry],
        ...{ entry, variant: "fp32", vad: "near", from: null, signal: new AbortController().signal },
        folders: { read: [folder], install: folder },
        hub: readHubOptions({ HF_ENDPOINT: hub.endpoint }),
        isTrusted: false,
        retry: { tries: 1, firstPauseMs: 1 },
        observer: { progress: () => {}, note: () => {} },
      });
      const added = await readPackage<PunctuationManifest>(join(folder, shipped.name), "punctuation");
      const punctuation = await punctuationFamilyOf(added.manifest).load(added, { intraOpThreads: 1 });
      const words = "сәлем әлем бұл қандай мәтін".split(" ");
      assert.equal((await punctuation.read(words)).marks.length, words.length);
      await punctuation.release();
    } finally {
      await hub.stop();
    }
  });
}
