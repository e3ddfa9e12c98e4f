import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { DiarizationOffers } from "../../../actors/fleet/diarization-offers.js";
import type { Heartbeat } from "../../../actors/fleet/heartbeats.js";
import { packedWindows, unpackedWindows } from "../../../actors/fleet/packed-windows.js";
import { spokenBy } from "../../../bench/support/marked-speakers.js";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import type { FileTranscript } from "../../../core/domain/decoding/transcript.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { DiarizationManifest } from "../../../native/models/manifest.js";
import type { ModelPackage } from "../../../native/models/package.js";
import { speech, wavOf } from "../../support/audio.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { engineOver, fileFleet, type Loaded, poolOf } from "../../support/file-fleet.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../../support/folders.js";
import { lightModels } from "../../support/light-models.js";
import { LossyBus } from "../../support/lossy-bus.js";
import { ManualClock } from "../../support/manual-clock.js";
import * as fc from "../../support/properties.js";

const NEVER = new AbortController().signal;
const RATE_HZ = 16_000;
const TWO = { speakers: { count: 2 } };

let recognizer: Loaded;
let diarization: ModelPackage<DiarizationManifest>;
let path: string;
let expected: FileTranscript;

before(async () => {
  const { MODELS_DIR } = await lightModels();
  recognizer = await recognizerIn(join(MODELS_DIR, basename(RECOGNIZER_FOLDER)));
  diarization = await readPackage<DiarizationManifest>("test/fixtures/adapters/tiny-pyannote", "diarization");
  const said = speech("kazakh-speech-commands/example_1.flac", RATE_HZ);
  // Longer than the windows of one task.
  const parts = [0, 2, 0].map((speaker) => ({ pcm: said, speaker }));
  path = join(await temporaryFolder(), "talk.wav");
  await writeFile(path, wavOf(spokenBy(parts), RATE_HZ, 1));
  const alone = engineOver(poolOf(recognizer, undefined, diarization), recognizer, diarization);
  expected = await alone.transcribe(path, NEVER, TWO);
});
after(() => recognizer.model.release());

const withSpeakers = () => poolOf(recognizer, undefined, diarization);

test("nodes find the speakers of a file as local workers do", async () => {
  assert.deepEqual([...new Set(expected.segments.map(({ speaker }) => speaker))], [0, 1]);
  const { engine, lost, startNode, end } = await fileFleet(recognizer, { diarization });
  await startNode();
  await startNode();
  await engine.start();
  const shares: number[] = [];
  const onProgress = (share: number) => void shares.push(share);
  assert.deepEqual(await engine.transcribe(path, NEVER, { ...TWO, onProgress }), expected);
  assert.equal(shares.at(-1), 1);
  assert.deepEqual(lost, []);
  await end();
});

test("only nodes with the model get tasks on speakers", async () => {
  const { engine, startNode, end } = await fileFleet(recognizer, { diarization });
  const types: Record<"without" | "with", string[]> = { without: [], with: [] };
  const watched = (which: keyof typeof types, its: typeof diarization | null) =>
    poolOf(recognizer, async ({ type }) => void types[which].push(type), its);
  await startNode(watched("without", null), undefined, null);
  await startNode(watched("with", diarization));
  await engine.start();
  assert.deepEqual(await engine.transcribe(path, NEVER, TWO), expected);
  assert.ok(types.without.length > 0 && types.without.every((type) => !type.endsWith("-speakers")));
  assert.ok(types.with.includes("hear-speakers") && types.with.includes("group-speakers"));
  await end();
});

test("a node that ends during a task on speakers leaves it to another node", async () => {
  for (const type of ["hear-speakers", "group-speakers"]) {
    const { engine, lost, startNode, end } = await fileFleet(recognizer, { diarization });
    const first = await startNode(
      poolOf(
        recognizer,
        async (task) => {
          if (task.type !== type) return;
          first.stop();
          await startNode(withSpeakers());
        },
        diarization,
      ),
    );
    assert.deepEqual(await engine.transcribe(path, NEVER, TWO), expected);
    assert.ok(lost.length > 0, "a task was lost");
    await end();
  }
});

test("the loss of any message of a node leaves the speakers unchanged", async () => {
  for (const nth of [1, 4, 9, 14]) {
    const { engine, startNode, end } = await fileFleet(recognizer, { diarization });
    await startNode(withSpeakers(), (bus) => {
      return new LossyBus(bus, /\.call\./, (at) => (at === nth ? "drop" : "send"));
    });
    assert.deepEqual(await engine.transcribe(path, NEVER, TWO), expected);
    await end();
  }
});

test("without a node with the model, speakers wait for one, then fail as busy, and other files go on", async () => {
  const { engine, startNode, end } = await fileFleet(recognizer, { waitMs: 3_000, diarization });
  await startNode(poolOf(recognizer), undefined, null);
  await engine.start();
  const busy = { code: "ENGINE_BUSY", message: /^no engine that tells speakers apart/ };
  const refused = assert.rejects(engine.transcribe(path, NEVER, TWO), busy);
  const plain = await engine.transcribe(path, NEVER);
  assert.ok(plain.segments.length > 0);
  await refused;
  const waiting = engine.transcribe(path, NEVER, TWO);
  await startNode(withSpeakers());
  assert.deepEqual(await waiting, expected);
  await end();
});

test("speakers of an abandoned file stop on their nodes", async () => {
  const { engine, hosts, startNode, end } = await fileFleet(recognizer, { diarization });
  const begun = deferred<void>();
  const held = deferred<void>();
  const holding = async ({ type }: { readonly type: string }) => {
    if (type !== "hear-speakers") return;
    begun.resolve();
    await held.promise;
  };
  await startNode(poolOf(recognizer, holding, diarization));
  const controller = new AbortController();
  const given = engine.transcribe(path, controller.signal, TWO);
  await begun.promise;
  controller.abort();
  await assert.rejects(given, { code: "CANCELLED" });
  await eventually("the node has ended its tasks", () => hosts[0]!.callCount === 0);
  held.resolve();
  assert.deepEqual(await engine.transcribe(path, NEVER, TWO), expected);
  await end();
});

test("packed windows are unpacked to the same, with and without embeddings", () => {
  const sizes = fc.record({ frames: fc.nat(5), speakers: fc.nat(3), floats: fc.integer({ min: 1, max: 4 }) });
  fc.assert(
    fc.property(sizes, fc.array(fc.array(fc.boolean(), { minLength: 3, maxLength: 3 })), (size, heard) => {
      const windows = heard.map((isHeard, at) => ({
        frames: new Uint8Array(size.frames).fill(at),
        embeddings: Array.from({ length: size.speakers }, (_, speaker) =>
          isHeard[speaker] === true ? new Float32Array(size.floats).fill(at + speaker / 2) : null,
        ),
      }));
      assert.deepEqual(unpackedWindows(packedWindows(windows)), windows);
    }),
  );
  const frames = new Uint8Array(2);
  const uneven = [1, 2].map((size) => ({ frames, embeddings: [new Float32Array(size)] }));
  assert.throws(() => packedWindows(uneven), RangeError);
});

test("a model counts as offered while engines have it, and for a while after the last one", () => {
  const clock = new ManualClock();
  const offers = new DiarizationOffers({ cell: "c", keptMs: 50_000, clock });
  const heartbeat = (changes: Partial<Heartbeat> = {}): Heartbeat => ({
    ...{ node: "n", cell: "c", zone: "z", model: "m", manifest: "h", protocol: { least: 1, most: 1 } },
    ...{ capacity: 2, used: 0, isDraining: false, ...changes },
  });
  assert.ok(offers.isOffered("d", []), "requests wait for the first engine");
  assert.ok(offers.isOffered("d", [heartbeat({ cell: "other" })]));
  const others = [heartbeat(), heartbeat({ diarization: "e" })];
  for (const each of [...others, heartbeat({ cell: "other", diarization: "d" })]) offers.hear(each);
  assert.equal(offers.isOffered("d", others), false);
  offers.hear(heartbeat({ diarization: "d" }));
  assert.ok(offers.isOffered("d", others));
  clock.advance(49_999);
  assert.ok(offers.isOffered("d", others));
  clock.advance(1);
  assert.equal(offers.isOffered("d", others), false);
});
