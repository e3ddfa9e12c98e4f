import assert from "node:assert/strict";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { chooseDefault, type Defaults, readDefaults, writeDefaults } from "../../src/models/defaults.js";
import { findInstalled, modelFolders } from "../../src/models/folders.js";
import { changeManifest, temporaryFolder } from "../support/folders.js";

const ADAPTERS = "test/fixtures/adapters";

test("without MODELS_DIR the data folder's packages precede the shipped ones", () => {
  const own = modelFolders({ modelsDir: "/srv/models", dataDir: "/srv/data" });
  assert.deepEqual(own, { read: ["/srv/models"], install: "/srv/models" });
  const { read, install } = modelFolders({ modelsDir: null, dataDir: "/srv/data" });
  assert.equal(install, "/srv/data/models");
  assert.equal(read[0], install);
  assert.match(read[1]!, /\/models$/);
});

test("of packages with the same ID, the one in the earlier folder wins; hidden folders are ignored", async () => {
  const folders = await Promise.all([temporaryFolder(), temporaryFolder()]);
  for (const folder of folders)
    await cp(`${ADAPTERS}/tiny-matcha`, join(folder, "tiny-matcha"), { recursive: true });
  await cp(`${ADAPTERS}/tiny-nemo-ctc`, join(folders[1], "tiny-nemo-ctc"), { recursive: true });
  await cp(`${ADAPTERS}/tiny-gigaam-ctc`, join(folders[1], ".tiny-gigaam-ctc.partial"), { recursive: true });
  const read = [...folders, join(folders[0], "is-not-there")];
  const found = await findInstalled({ read, install: folders[1] });
  assert.deepEqual(
    found.map(({ folder }) => folder),
    [join(folders[0], "tiny-matcha"), join(folders[1], "tiny-nemo-ctc")],
  );
});

test("the default is the chosen package, else the shipped one, else the first by ID", async () => {
  const folder = await temporaryFolder();
  for (const name of ["tiny-gigaam-ctc", "tiny-nemo-ctc", "tiny-zipformer2-ctc"]) {
    await cp(`${ADAPTERS}/${name}`, join(folder, name), { recursive: true });
  }
  const choose = async (defaults: Defaults) => {
    const packages = await findInstalled({ read: [folder], install: folder });
    return chooseDefault(packages, "transcription", { defaults, folder })?.manifest.id ?? null;
  };
  assert.equal(await choose({}), "tiny-gigaam-ctc");
  assert.equal(await choose({ transcription: "tiny-nemo-ctc", synthesis: "is-not-there" }), "tiny-nemo-ctc");
  await changeManifest(join(folder, "tiny-zipformer2-ctc"), (fields) => ({ ...fields, id: "svc-kk-ru-v2" }));
  assert.equal(await choose({}), "svc-kk-ru-v2");
  assert.equal(chooseDefault([], "synthesis", { defaults: {}, folder }), null);
});

test("a default that is not installed or is for another task is rejected with the file and the ID", async () => {
  const folder = await temporaryFolder();
  await cp(`${ADAPTERS}/tiny-matcha`, join(folder, "tiny-matcha"), { recursive: true });
  const packages = await findInstalled({ read: [folder], install: folder });
  const choose = (id: string) => () =>
    chooseDefault(packages, "transcription", { defaults: { transcription: id }, folder });
  const start = `Cannot start: ${folder}/defaults.json sets`;
  assert.throws(choose("gone"), { message: `${start} gone for transcription, which is not installed` });
  assert.throws(choose("tiny-matcha"), {
    message: `${start} tiny-matcha for transcription, which is a package for synthesis`,
  });
});

test("defaults are written atomically; a damaged file is rejected with its path and rule", async () => {
  const folder = join(await temporaryFolder(), "models");
  assert.deepEqual(await readDefaults(folder), {});
  await mkdir(folder);
  await writeDefaults(folder, { transcription: "a" });
  await writeDefaults(folder, { transcription: "b", synthesis: "c" });
  assert.deepEqual(await readDefaults(folder), { transcription: "b", synthesis: "c" });
  assert.deepEqual(await readdir(folder), ["defaults.json"]);
  const path = join(folder, "defaults.json");
  for (const [text, rule] of [
    ['{"transcription":', /JSON/],
    ['{"transcription": 7}', /transcription must be the id of a package/],
    ['{"transcribe": "a"}', /transcribe/],
  ] as const) {
    await writeFile(path, text);
    await assert.rejects(readDefaults(folder), (error: Error & { code?: string }) => {
      assert.equal(error.code, "MODEL_BROKEN");
      assert.ok(error.message.startsWith(`Cannot use ${path}: `), error.message);
      assert.match(error.message, rule);
      return true;
    });
  }
});
