import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { recognizerIn } from "../../../bench/support/recognizer.js";
import type { FilePiece } from "../../../native/threads/protocol.js";
import { joined, silence, speech, wavOf } from "../../support/audio.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { engineOver, fileFleet, type Loaded, poolOf } from "../../support/file-fleet.js";
import { RECOGNIZER_FOLDER, temporaryFolder } from "../../support/folders.js";
import { lightModels } from "../../support/light-models.js";
import { LossyBus } from "../../support/lossy-bus.js";
import { RecordedSpans } from "../../support/recorded-spans.js";
import { TINY_PACKAGES, TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const NEVER = new AbortController().signal;
const RATE_HZ = 24_000;
const SENTENCE = speech("kazakh-speech-commands/example_1.flac", RATE_HZ);

/** Speech without pauses, in which only the maximum length ends a piece. */
function withoutPauses(pcm: Int16Array): Int16Array {
  const moment = RATE_HZ / 50;
  const moments = Array.from({ length: Math.floor(pcm.length / moment) }, (_, at) =>
    pcm.subarray(at * moment, (at + 1) * moment),
  );
  return joined(...moments.filter((samples) => samples.some((sample) => Math.abs(sample) > 1_000)));
}

/**
 * Writes sentences with pauses, some of them at the very end. @param denseSeconds seconds without a pause
 */
async function file(denseSeconds: number): Promise<string> {
  const path = join(await temporaryFolder(), "speech.wav");
  const dense = withoutPauses(SENTENCE);
  const count = Math.ceil((denseSeconds * RATE_HZ) / dense.length);
  const parts = [silence(0.3, RATE_HZ), SENTENCE, silence(0.9, RATE_HZ), SENTENCE, silence(1, RATE_HZ)];
  parts.push(...Array.from({ length: count }, () => dense), silence(0.8, RATE_HZ), SENTENCE);
  await writeFile(path, wavOf(joined(...parts), RATE_HZ, 2));
  return path;
}

/** The shipped recogniser, and one with an unlimited encoder memory, whose state is sent with each part. */
async function recognizers(): Promise<readonly Loaded[]> {
  const { MODELS_DIR } = await lightModels();
  const kept = TINY_RECOGNIZERS.find(({ forget }) => !forget)!;
  const tiny = TINY_PACKAGES.find(({ manifest }) => manifest.id === kept.id)!;
  return Promise.all([
    recognizerIn(join(MODELS_DIR, basename(RECOGNIZER_FOLDER))),
    recognizerIn(tiny.folder),
  ]);
}

test("files transcribed by nodes", async (t) => {
  const path = await file(0);
  // A piece is cut after half a minute.
  const withCut = await file(31);
  const loaded = await recognizers();
  const [shipped] = loaded;
  const hotWords = [{ text: "салем", characterScore: 0.5 }];

  for (const recognizer of loaded) {
    const { id } = recognizer.model.manifest;
    await t.test(`nodes transcribe a file to the same bits as local workers: ${id}`, async () => {
      const alone = engineOver(poolOf(recognizer), recognizer);
      const heard = recognizer === shipped ? withCut : path;
      const expected = await alone.transcribe(heard, NEVER, { hotWords });
      const { engine, lost, startNode, end } = await fileFleet(recognizer);
      const pieces: FilePiece[] = [];
      const watched = poolOf(recognizer, async (task) => {
        if (task.type === "decode") pieces.push(...task.pieces);
      });
      await startNode(watched);
      await startNode(watched);
      await engine.start();
      const shares: number[] = [];
      const onProgress = (share: number) => void shares.push(share);
      assert.deepEqual(await engine.transcribe(heard, NEVER, { hotWords, onProgress }), expected);
      assert.deepEqual(
        shares,
        shares.toSorted((a, b) => a - b),
      );
      assert.equal(shares.at(-1), 1);
      assert.deepEqual(lost, []);
      if (recognizer === shipped) {
        assert.ok(expected.segments.length > 3, "there is speech in it, with words");
        assert.ok(
          pieces.some(({ isCutBehind }) => isCutBehind) && pieces.some(({ isCutBefore }) => isCutBefore),
          "speech without a pause was cut, and nodes decoded both sides of the cut",
        );
      }
      await end();
    });
  }

  await t.test("if a node ends during a task, another node takes over", async () => {
    const expected = await engineOver(poolOf(shipped!), shipped!).transcribe(path, NEVER);
    for (const type of ["hear", "decode"]) {
      const { engine, lost, startNode, end } = await fileFleet(shipped!);
      const first = await startNode(
        poolOf(shipped!, async (task) => {
          if (task.type !== type) return;
          first.stop();
          await startNode();
        }),
      );
      assert.deepEqual(await engine.transcribe(path, NEVER), expected);
      assert.ok(lost.length > 0, "a task was lost");
      await end();
    }
  });

  await t.test("the loss of any message of a node leaves the transcript unchanged", async () => {
    const expected = await engineOver(poolOf(shipped!), shipped!).transcribe(path, NEVER);
    for (const nth of [0, 2, 5]) {
      const { engine, startNode, end } = await fileFleet(shipped!);
      await startNode(poolOf(shipped!), (bus) => {
        return new LossyBus(bus, /\.call\./, (at) => (at === nth ? "drop" : "send"));
      });
      assert.deepEqual(await engine.transcribe(path, NEVER), expected);
      await end();
    }
  });

  await t.test("a traced file is one trace over all its tasks on nodes", async () => {
    const { engine, engineSpans, startNode, end } = await fileFleet(shipped!);
    await startNode();
    await startNode();
    const gateway = new RecordedSpans();
    await engine.transcribe(path, NEVER, { span: gateway.begin("file", undefined) });
    await engine.transcribe(path, NEVER);
    const runs = gateway.named("worker run");
    assert.deepEqual(new Set(runs.map(({ attributes }) => attributes["task"])), new Set(["hear", "decode"]));
    // Either of two concurrent tasks may reach its node first.
    const inOrder = (told: readonly (readonly unknown[])[]) => told.map(String).toSorted();
    assert.deepEqual(
      inOrder(engineSpans.spans.map(({ name, parent, attributes }) => [name, parent, attributes["node"]])),
      inOrder(runs.map((run) => ["engine transcription", run.traceparent, run.attributes["node"]])),
    );
    for (const span of [...runs, ...engineSpans.spans]) assert.equal(span.ends, 1);
    await end();
  });

  await t.test("the node with the smallest runs limits the length of tasks", async () => {
    const { engine, pool, startNode, end } = await fileFleet(shipped!);
    await startNode({ ...poolOf(shipped!), runFrames: 3_000 });
    await engine.start();
    assert.equal(pool.runFrames, 3_000);
    await startNode({ ...poolOf(shipped!), runFrames: 2_000 });
    await eventually("the second is heard", () => pool.runFrames === 2_000);
    await startNode();
    await eventually("one that runs pieces alone is heard", () => pool.runFrames === 0);
    await end();
  });

  await t.test("an abandoned file stops without affecting others", async () => {
    const { engine, hosts, startNode, end } = await fileFleet(shipped!);
    const begun = deferred<void>();
    const held = deferred<void>();
    await startNode(
      poolOf(shipped!, async () => {
        begun.resolve();
        await held.promise;
      }),
    );
    const controller = new AbortController();
    const given = engine.transcribe(path, controller.signal);
    await begun.promise;
    controller.abort();
    await assert.rejects(given, { code: "CANCELLED" });
    await eventually("the node has ended its tasks", () => hosts[0]!.callCount === 0);
    held.resolve();
    assert.ok((await engine.transcribe(path, NEVER)).segments.length > 0);
    await end();
  });

  await t.test("a file fails after waiting without nodes, or when its third worker dies", async () => {
    const { engine, startNode, end } = await fileFleet(shipped!, { waitMs: 2_000 });
    await assert.rejects(engine.transcribe(path, NEVER), { code: "ENGINE_BUSY" });
    let deaths = 0;
    const dying = poolOf(shipped!, async () => {
      deaths++;
      throw new Error("the thread has ended");
    });
    await startNode(dying);
    await assert.rejects(engine.transcribe(path, NEVER), { code: "WORKER_LOST" });
    assert.ok(deaths >= 3);
    await end();
  });
  await Promise.all(loaded.map(({ model }) => model.release()));
});
