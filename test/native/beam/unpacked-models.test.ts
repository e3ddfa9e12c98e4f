import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, suite, test } from "node:test";
import { loadBinding, type NativeModel } from "../../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../../native/beam/native-beam-search.js";
import { UnpackedModels } from "../../../native/beam/unpacked-models.js";
import { modelFile } from "../../domain/decoding/model-file.js";
import { temporaryFolder } from "../../support/folders.js";

const VOCABULARY = ["", " ", "а", "ә", "б"];
const WIDTH = VOCABULARY.length;
const OPTIONS = { beamWidth: 8, languageModelWeight: 0.6, characterBonus: 0.8, wordBonus: 0.5 };
const FRAMES = 12;
const ANY_SIZE = { leastBytes: 0 };
const { binding, missing } = loadBinding();

suite("unpacked language models", {
  skip: binding === null ? `no native search: ${missing}` : false,
}, () => {
  let folder: string;
  let kept: UnpackedModels;
  let round = 0;
  /**
   * Each test has a different model, because the process keeps models by their keys while they are in use.
   */
  let key: string;

  beforeEach(async () => {
    folder = join(await temporaryFolder(), "language-models");
    kept = new UnpackedModels({ folder, leastFreeBytes: 0 }, ANY_SIZE);
    key = `unpacked-${round++}`;
  });

  const unpack = (name = key): Promise<NativeModel> =>
    sharedModel(binding!, name, VOCABULARY, async () => FILE);
  const read = (name = key): NativeModel | null => kept.read(binding!, name, WIDTH);
  const pathOf = (name = key): string => join(folder, `${name}.tables`);
  const textsOf = (model: NativeModel): unknown => {
    const search = new NativeBeamSearch(binding!, VOCABULARY, model, OPTIONS);
    return [0, 1, 2].map((seed) => {
      const logProbs = Float32Array.from(
        { length: FRAMES * WIDTH },
        (_, i) => -((i * 7 + seed * 3) % 11) / 3,
      );
      return search.search(logProbs, FRAMES, null).map(({ tokens, score }) => [Array.from(tokens), score]);
    });
  };

  test("a cached model is bit-identical to the unpacked one", async () => {
    const model = await unpack();
    assert.equal(read(), null);
    assert.equal(await kept.write(binding!, key, model), true);
    // The file has another name, because the process already has the first one.
    const path = pathOf("of-another-process");
    await writeFile(path, await readFile(pathOf()));
    const found = read("of-another-process");
    assert.notEqual(found, null);
    assert.equal(binding!.modelBytes(found!), binding!.modelBytes(model));
    assert.deepEqual(textsOf(found!), textsOf(model));
  });

  test("reading a model from the cache still checks its own file", async () => {
    await kept.write(binding!, key, await unpack("of-an-earlier-process"));
    let reads = 0;
    const file = async () => {
      reads++;
      return FILE;
    };
    // Everything after the header is cut off, so unpacking it would fail.
    const header = async () => (await file()).slice(0, 8 + headerBytes(FILE));
    await sharedModel(binding!, key, VOCABULARY, header, kept);
    assert.equal(reads, 1);
    const others = ["", " ", "a", "b", "c"];
    await assert.rejects(sharedModel(binding!, `${key}-other`, others, file, kept), /vocabulary/);
  });

  test("a truncated or damaged file is ignored and written again", async () => {
    const model = await unpack();
    await kept.write(binding!, key, model);
    const whole = await readFile(pathOf());
    for (const size of [0, 7, 4_000, whole.length - 1]) {
      await truncate(pathOf(), size);
      assert.equal(read(), null, `${size} of ${whole.length} bytes`);
    }
    // The positions are in the header and in all tables.
    for (let at = 0; at < whole.length; at += at < 5_000 ? 97 : 4_099) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 1;
      await writeFile(pathOf(), damaged);
      assert.equal(read(), null, `byte ${at} of ${whole.length}`);
    }
    await writeFile(pathOf(), Buffer.concat([whole, Buffer.alloc(1)]));
    assert.equal(read(), null, "a byte more");
    assert.equal(await kept.write(binding!, key, model), true);
    assert.deepEqual(await readFile(pathOf()), whole);
  });

  test("a file for another vocabulary is ignored", async () => {
    await kept.write(binding!, key, await unpack());
    assert.equal(kept.read(binding!, key, WIDTH + 1), null);
  });

  test("concurrent writers leave one complete file, readable only by its owner", async () => {
    const model = await unpack();
    await mkdir(folder);
    // A killed process has left this old file.
    const left = join(folder, `${key}.left.draft`);
    await writeFile(left, "half");
    await utimes(left, new Date(0), new Date(0));
    const written = await Promise.all(Array.from({ length: 4 }, () => kept.write(binding!, key, model)));
    assert.ok(written.includes(true));
    assert.deepEqual(await readdir(folder), [`${key}.tables`]);
    assert.notEqual(read(), null);
    assert.equal((await stat(pathOf())).mode & 0o777, 0o600);
  });

  test("a model that another process is writing is not written", async () => {
    const model = await unpack();
    await mkdir(folder);
    await writeFile(join(folder, `${key}.other.draft`), "half");
    assert.equal(await kept.write(binding!, key, model), false);
    assert.equal(await kept.write(binding!, `${key}-other`, model), true);
  });

  test("nothing is cached without space or a folder", async () => {
    const model = await unpack();
    const floor = { folder, leastFreeBytes: Number.MAX_SAFE_INTEGER };
    assert.equal(await new UnpackedModels(floor, ANY_SIZE).write(binding!, key, model), false);
    assert.deepEqual(await readdir(folder), []);
    const inFile = { folder: join(folder, "file", "models"), leastFreeBytes: 0 };
    await writeFile(join(folder, "file"), "");
    assert.equal(await new UnpackedModels(inFile, ANY_SIZE).write(binding!, key, model), false);
    // Root can write anywhere, so this part is only for other users.
    await chmod(folder, 0o500);
    const isKept = await kept.write(binding!, key, model);
    await chmod(folder, 0o700);
    assert.equal(isKept, process.getuid?.() === 0);
  });

  test("the three most recently used models are cached, except small ones", async () => {
    const model = await unpack();
    const place = { folder, leastFreeBytes: 0 };
    assert.equal(await new UnpackedModels(place).write(binding!, key, model), false);
    const names = ["a", "b", "c", "d"];
    for (const [i, name] of names.entries()) {
      await kept.write(binding!, name, model);
      await utimes(pathOf(name), 1_000 + i, 1_000 + i);
    }
    assert.deepEqual((await readdir(folder)).sort(), ["b.tables", "c.tables", "d.tables"]);
  });
});

const FILE = modelFile({
  vocabulary: VOCABULARY,
  order: 3,
  texts: [
    [2, 3, 1, 4, 2],
    [4, 4, 1, 3],
    [1, 2, 2, 3, 4, 1, 1],
  ],
  seed: 5,
  wordHashes: [0, 70_000, 4_000_000_000],
});

/** The length of the header follows the file's magic number. */
function headerBytes(file: Uint8Array): number {
  return new DataView(file.buffer, file.byteOffset).getUint32(4, true);
}
