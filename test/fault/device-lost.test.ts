import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { SynthesisJob } from "../../core/ports/synthesizer.js";
import { startFilePool } from "../../native/file-pool.js";
import { startLiveWorker, startSynthesisWorker } from "../../native/start-workers.js";
import { cut, joined, silence, speech, wavOf } from "../support/audio.js";
import { DEVICE_ENTRIES } from "../support/device/entries.js";
import { placingLog } from "../support/device/placing-log.js";
import {
  liveEngine,
  RECOGNIZER,
  SYNTHESIZER,
  synthesisEngine,
  transcriptionEngine,
} from "../support/engines.js";
import { FaultOrders } from "../support/faulty/orders.js";
import { temporaryFolder } from "../support/folders.js";
import { finalsOf, LiveListener } from "../support/live-listener.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
const DIALOGUE = joined(silence(0.3), KAZAKH, silence(0.8), KAZAKH, silence(0.5));
const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "aigul",
  spokenText: "қайырлы күн, бүгін ауа райы жақсы болады.",
  speed: 1,
  nfe: 4,
  seed: 1,
  chunking: "growing",
};
const NEVER = new AbortController().signal;
const orders = new FaultOrders();

test("an engine that loses its device in mid-utterance continues with the next one without losing a word", async () => {
  const { placing, events } = placingLog(["cuda", "cpu"]);
  const settings = { ...RECOGNIZER, entries: DEVICE_ENTRIES, placing };
  const engine = await liveEngine({
    startWorker: (cells, onMessage, lane) => startLiveWorker(settings, cells, onMessage, lane),
  });
  await engine.start();
  try {
    const undisturbed = await finalsOf(engine, [DIALOGUE]);
    assert.ok(undisturbed.length >= 2);
    const listener = new LiveListener(engine);
    const pieces = cut(DIALOGUE, [1_600]);
    const half = Math.floor(pieces.length * 0.75);
    await listener.writeAll(pieces.slice(0, half));
    await listener.seen((event) => event.type === "partial" && event.startSample > KAZAKH.length);
    orders.failAll("live");
    await listener.writeAll(pieces.slice(half));
    assert.equal((await listener.finish()).type, "finished");
    assert.deepEqual(listener.finals, undisturbed);
    assert.deepEqual(events, ["on cuda 0", "cuda to cpu", "on cpu null"]);
  } finally {
    await engine.stop();
  }
});

test("the next device continues a piece at the next sample", async () => {
  const { placing, events } = placingLog(["cuda", "cpu"]);
  const settings = { ...SYNTHESIZER, entries: DEVICE_ENTRIES, placing };
  const engine = await synthesisEngine({
    startWorker: (shared, onMessage, lane) => startSynthesisWorker(settings, shared, onMessage, lane),
  });
  await engine.start();
  try {
    const undisturbed = await engine.speak(JOB, NEVER);
    // If the piece completes before the order arrives, the loss affects the next piece.
    for (let pieces = 0; events.length === 1; pieces++) {
      assert.ok(pieces < 10, "the device is lost");
      const heard: Int16Array[] = [];
      const onPcm = (pcm: Int16Array) => {
        if (heard.length === 0) orders.failAll("synthesis");
        heard.push(pcm);
      };
      assert.deepEqual(await engine.speak(JOB, NEVER, { onPcm }), undisturbed);
      assert.deepEqual(joined(...heard), undisturbed.pcm);
    }
    assert.deepEqual(events, ["on cuda 0", "cuda to cpu", "on cpu null"]);
  } finally {
    await engine.stop();
  }
});

test("the next device completes a file with the undisturbed transcript", async () => {
  const { placing, events } = placingLog(["cuda", "cpu"]);
  const pool = startFilePool({ ...RECOGNIZER, entries: DEVICE_ENTRIES, placing, workerCount: 1 });
  const wavPath = join(await temporaryFolder(), "speech.wav");
  await writeFile(wavPath, wavOf(DIALOGUE, 16_000, 1));
  const engine = transcriptionEngine(pool);
  try {
    await engine.start();
    const undisturbed = await engine.transcribe(wavPath, NEVER);
    assert.ok(undisturbed.segments.length >= 2);
    orders.failAll("transcription");
    assert.deepEqual(await engine.transcribe(wavPath, NEVER), undisturbed);
    assert.deepEqual(events, ["on cuda 0", "cuda to cpu", "on cpu null"]);
  } finally {
    await engine.stop();
  }
});
