import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  DIARIZATION_CASES,
  EMBEDDED_SECONDS,
  readDiarizationReference,
  speakersPcm,
  turnsBy,
} from "../../../bench/support/diarization-reference.js";
import type { ServiceError } from "../../../core/domain/errors.js";
import { diarizationFamilyOf } from "../../../native/models/families.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { PyannoteManifest } from "../../../native/models/pyannote/manifest.js";
import { Pyannote } from "../../../native/models/pyannote/pyannote.js";
import { temporaryFolder } from "../../support/folders.js";

const TINY = "test/fixtures/adapters/tiny-pyannote";
const RATE_HZ = 16_000;
const OPTIONS = { intraOpThreads: 1 };
const REFERENCE = readDiarizationReference();

let model: Pyannote;

before(async () => {
  model = await Pyannote.load(await readPackage<PyannoteManifest>(TINY, "diarization"), OPTIONS);
});
after(() => model.release());

for (const [index, each] of DIARIZATION_CASES.entries()) {
  const { seconds, speakerCount } = each;
  test(`turns of ${seconds} s with ${speakerCount ?? "unknown"} speakers equal those of sherpa-onnx`, async () => {
    const expected = REFERENCE.turns[index]!;
    const turns = await turnsBy(model, each);
    assert.deepEqual(
      turns.map(({ speaker }) => speaker),
      expected.map(({ speaker }) => speaker),
    );
    for (const [at, { start, end }] of turns.entries()) {
      assert.ok(Math.abs(start - expected[at]!.start) < 0.001, `${start}, ${expected[at]!.start}`);
      assert.ok(Math.abs(end - expected[at]!.end) < 0.001, `${end}, ${expected[at]!.end}`);
    }
  });
}

test("embeddings equal those of sherpa-onnx", async () => {
  const pcm = speakersPcm(34);
  for (const [index, [start, end]] of EMBEDDED_SECONDS.entries()) {
    const embedding = (await model.embed(pcm.slice(start * RATE_HZ, end * RATE_HZ)))!;
    const expected = REFERENCE.embeddings[index]!;
    assert.equal(embedding.length, expected.length);
    const scale = Math.max(...expected.map(Math.abs));
    for (const [at, value] of embedding.entries())
      assert.ok(Math.abs(value - expected[at]!) < 1e-3 * scale, `${value}, ${expected[at]}`);
  }
});

test("a window has as many frames as the graph says: 589 for 10 s", async () => {
  const { frames, embeddings } = await model.hearWindow(speakersPcm(10), 10 * RATE_HZ);
  assert.equal(frames.length, 589);
  assert.deepEqual(
    embeddings.map((embedding) => embedding?.length ?? 0),
    [24, 24, 0],
  );
});

test("speech too short for a frame has no embedding", async () => {
  assert.equal(await model.embed(new Float32Array(0)), null);
});

test("the segmentation's classes must be those of a powerset", async () => {
  const folder = await changed(({ files }) => {
    // The embedding's output has 24 values.
    files["segmentation"] = files["embedding"]!;
  });
  await assert.rejects(load(folder), (error: ServiceError) => {
    assert.equal(error.code, "MODEL_BROKEN");
    assert.match(error.message, /tiny-pyannote\/embedding\.onnx: a powerset .* found 24/);
    return true;
  });
});

test("a manifest must name both graphs, and shift windows by at most their length", async () => {
  const without = await changed(({ files }) => {
    delete files["embedding"];
  });
  await assert.rejects(readPackage(without, "diarization"), /files must list "embedding"/);
  const jumping = await changed((manifest) => Object.assign(manifest, { shiftSamples: 160_001 }));
  await assert.rejects(readPackage(jumping, "diarization"), /shiftSamples must be at most windowSamples/);
});

async function load(folder: string) {
  const found = await readPackage<PyannoteManifest>(folder, "diarization");
  return await diarizationFamilyOf(found.manifest).load(found, OPTIONS);
}

interface ChangedManifest {
  files: Record<string, object>;
}

async function changed(change: (manifest: ChangedManifest) => void): Promise<string> {
  const folder = join(await temporaryFolder(), "tiny-pyannote");
  await cp(TINY, folder, { recursive: true });
  const path = join(folder, "manifest.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as ChangedManifest;
  change(manifest);
  await writeFile(path, JSON.stringify(manifest));
  return folder;
}
