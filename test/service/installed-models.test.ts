import assert from "node:assert/strict";
import { cp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { readInstalledModels } from "../../src/service/installed-models.js";
import {
  changeManifest,
  RECOGNIZER_FOLDER,
  SYNTHESIZER_FOLDER,
  temporaryFolder,
} from "../support/folders.js";
import { SILENT } from "../support/silent-log.js";

const ADAPTERS = "test/fixtures/adapters";

/** Creates a data folder with these tiny packages, and reads the installed models. */
async function dataFolder(...names: readonly string[]) {
  const dataDir = await temporaryFolder();
  const models = join(dataDir, "models");
  await mkdir(models);
  for (const name of names) await cp(join(ADAPTERS, name), join(models, name), { recursive: true });
  const read = async () => {
    const { recognizers, synthesizers, punctuation, catalog, broken } = await readInstalledModels(
      { dataDir, modelsDir: null },
      SILENT,
    );
    const ids = [recognizers, synthesizers].map((list) => list.map(({ manifest }) => manifest.id));
    const folders = recognizers.map(({ folder }) => folder);
    return { ids, folders, punctuation: punctuation.manifest.id, catalog, broken };
  };
  return { models, read };
}

function useDefault(models: string, defaults: object): Promise<void> {
  return writeFile(join(models, "defaults.json"), JSON.stringify(defaults));
}

test("packages in the data folder do not replace the shipped defaults until chosen", async () => {
  const { models, read } = await dataFolder("tiny-gigaam-ctc", "tiny-nemo-ctc", "tiny-matcha");
  const { ids, catalog, broken } = await read();
  assert.deepEqual(ids, [
    ["svc-kk-ru-v2", "tiny-gigaam-ctc", "tiny-nemo-ctc"],
    ["svc-kk-v1", "tiny-matcha"],
  ]);
  assert.deepEqual(broken, []);
  const { hearing, speaking } = catalog;
  assert.equal(hearing.default.name, "svc-kk-ru-v2");
  assert.equal(hearing.require("tiny-gigaam-ctc").family, "gigaam-ctc");
  assert.ok(hearing.require("tiny-gigaam-ctc").alphabet.has("ж"));
  assert.ok(hearing.require("tiny-nemo-ctc").alphabet.has("м"), "the letters of its word pieces");
  assert.ok(hearing.all.every(({ writes_marks }) => !writes_marks));
  assert.equal(speaking.require("tiny-matcha").default_voice, "first");
  await useDefault(models, { transcription: "tiny-nemo-ctc", synthesis: "tiny-matcha" });
  assert.deepEqual((await read()).ids, [
    ["tiny-nemo-ctc", "svc-kk-ru-v2", "tiny-gigaam-ctc"],
    ["tiny-matcha", "svc-kk-v1"],
  ]);
});

test("added punctuation is used once chosen; a broken choice fails the start, another broken package does not", async () => {
  const { models, read } = await dataFolder("tiny-punct-cap-seg");
  assert.equal((await read()).punctuation, "punctuation-v1");
  await useDefault(models, { punctuation: "tiny-punct-cap-seg" });
  assert.equal((await read()).punctuation, "tiny-punct-cap-seg");
  await changeManifest(join(models, "tiny-punct-cap-seg"), (manifest) => ({
    ...manifest,
    postLabels: ["!"],
  }));
  await assert.rejects(read(), /postLabels\.0 must be one of .*, found !/);
  await useDefault(models, {});
  const { punctuation, broken } = await read();
  assert.deepEqual([punctuation, broken.map(({ id }) => id)], ["punctuation-v1", ["tiny-punct-cap-seg"]]);
  await useDefault(models, { punctuation: "svc-kk-v1" });
  await assert.rejects(read(), /sets svc-kk-v1 for punctuation, which is a package for synthesis/);
});

test("a folder of models without punctuation uses the shipped one, even with another added", async () => {
  const modelsDir = await temporaryFolder();
  for (const name of ["tiny-gigaam-ctc", "tiny-matcha", "tiny-punct-cap-seg"])
    await cp(join(ADAPTERS, name), join(modelsDir, name), { recursive: true });
  const { punctuation } = await readInstalledModels({ dataDir: modelsDir, modelsDir }, SILENT);
  assert.equal(punctuation.manifest.id, "punctuation-v1");
});

test("an operator's package with a shipped ID replaces the shipped one", async () => {
  const { models, read } = await dataFolder("tiny-gigaam-ctc");
  const own = join(models, "tiny-gigaam-ctc");
  await changeManifest(own, (manifest) => ({ ...manifest, id: "svc-kk-ru-v2" }));
  assert.deepEqual((await read()).folders, [own]);
});

test("a broken package is reported and skipped; a broken default fails the start", async () => {
  const { models, read } = await dataFolder("tiny-gigaam-ctc", "tiny-nemo-ctc", "tiny-matcha");
  await changeManifest(join(models, "tiny-matcha"), (manifest) => ({ ...manifest, family: "unheard-of" }));
  await writeFile(join(models, "tiny-gigaam-ctc", "manifest.json"), "{");
  await rm(join(models, "tiny-nemo-ctc", "tokens.txt"));
  const { ids, broken } = await read();
  assert.deepEqual(ids, [["svc-kk-ru-v2"], ["svc-kk-v1"]]);
  assert.deepEqual(
    broken.map(({ id, error }) => [id, error.code]),
    [
      ["tiny-gigaam-ctc", "MODEL_BROKEN"],
      ["tiny-matcha", "MODEL_BROKEN"],
      ["tiny-nemo-ctc", "MODEL_BROKEN"],
    ],
  );
  for (const [defaults, rule] of [
    [{ transcription: "tiny-gigaam-ctc" }, /tiny-gigaam-ctc\/manifest\.json/],
    [{ transcription: "tiny-nemo-ctc" }, /tokens\.txt/],
    [{ synthesis: "tiny-matcha" }, /family must be one of .*, found unheard-of/],
    [{ synthesis: "gone" }, /defaults\.json sets gone for synthesis, which is not installed/],
  ] as const) {
    await useDefault(models, defaults);
    await assert.rejects(read(), { code: "MODEL_BROKEN", message: rule });
  }
});

test("a broken package with a shipped ID is not silently replaced by the shipped one", async () => {
  const { models, read } = await dataFolder("tiny-gigaam-ctc");
  await changeManifest(join(models, "tiny-gigaam-ctc"), (manifest) => {
    return { ...manifest, id: "svc-kk-ru-v2", melBins: -1 };
  });
  await assert.rejects(read(), { code: "MODEL_BROKEN", message: /tiny-gigaam-ctc\/manifest\.json: melBins/ });
});

test("MODELS_DIR needs a package for each task; links to packages count", async () => {
  const modelsDir = await temporaryFolder();
  await symlink(resolve(RECOGNIZER_FOLDER), join(modelsDir, "ears"));
  await symlink(resolve("README.md"), join(modelsDir, "README"));
  await mkdir(join(modelsDir, ".half-made"));
  await writeFile(join(modelsDir, ".half-made", "manifest.json"), "{");
  const read = () => readInstalledModels({ modelsDir, dataDir: "/nowhere" }, SILENT);
  await assert.rejects(read(), {
    message: `Cannot start: no model package for synthesis in ${modelsDir}`,
  });
  await symlink(resolve(SYNTHESIZER_FOLDER), join(modelsDir, "mouth"));
  const { recognizers, broken } = await read();
  assert.deepEqual([recognizers.map(({ folder }) => folder), broken], [[join(modelsDir, "ears")], []]);
});
