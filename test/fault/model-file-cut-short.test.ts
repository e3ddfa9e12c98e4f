import assert from "node:assert/strict";
import { rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import { startFilePool } from "../../native/file-pool.js";
import { startLiveWorker, startSynthesisWorker } from "../../native/start-workers.js";
import {
  liveEngine,
  RECOGNIZER,
  SYNTHESIZER,
  synthesisEngine,
  transcriptionEngine,
} from "../support/engines.js";
import { copyOfPackage } from "../support/folders.js";

function brokenModel(file: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "MODEL_BROKEN", error.message);
    assert.match(error.message, new RegExp(file.replace(".", "\\.")));
    return true;
  };
}

test("a live worker with a truncated file does not start and names the file", async () => {
  const modelFolder = await copyOfPackage(RECOGNIZER.modelFolder);
  await truncate(join(modelFolder, "full.onnx"), 100_000);
  const engine = await liveEngine({
    startWorker: (cells, onMessage) => startLiveWorker({ ...RECOGNIZER, modelFolder }, cells, onMessage),
  });
  await assert.rejects(engine.start(), brokenModel("full.onnx"));
  await engine.stop();
});

test("a synthesis worker without its vocoder does not start and names the file", async () => {
  const modelFolder = await copyOfPackage(SYNTHESIZER.modelFolder);
  await rm(join(modelFolder, "vocoder.onnx"));
  const engine = await synthesisEngine({
    startWorker: (shared, onMessage) =>
      startSynthesisWorker({ ...SYNTHESIZER, modelFolder }, shared, onMessage),
  });
  await assert.rejects(engine.start(), brokenModel("vocoder.onnx"));
  await engine.stop();
});

test("a file worker with a truncated file rejects its tasks and names the file", async () => {
  const modelFolder = await copyOfPackage(RECOGNIZER.modelFolder);
  await truncate(join(modelFolder, "lm.bin"), 1_000);
  const pool = startFilePool({ ...RECOGNIZER, modelFolder, workerCount: 1 });
  const engine = transcriptionEngine(pool);
  await assert.rejects(engine.start(), brokenModel("lm.bin"));
  await engine.stop();
});
