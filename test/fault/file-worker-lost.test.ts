import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { FilePool } from "../../actors/transcription/file-queue.js";
import { ServiceError } from "../../core/domain/errors.js";
import type { FileTask } from "../../native/threads/protocol.js";
import { joined, silence, speech, wavOf } from "../support/audio.js";
import { filePool, transcriptionEngine } from "../support/engines.js";
import { temporaryFolder } from "../support/folders.js";

const NEVER = new AbortController().signal;

let pool: FilePool;
let wavPath: string;

before(async () => {
  pool = filePool();
  wavPath = join(await temporaryFolder(), "speech.wav");
  const pcm = joined(silence(0.3), speech("kazakh-speech-commands/example_1.flac"), silence(0.6));
  await writeFile(wavPath, wavOf(pcm, 16_000, 1));
});

after(() => pool.close());

/**
 * The real pool, except that completed tasks are lost together with their worker as often as `losses` states
 * for their type.
 */
function losing(losses: Partial<Record<FileTask["type"], number>>): FilePool {
  const left = { ...losses };
  return {
    run: async (task) => {
      const answer = await pool.run(task);
      const remaining = left[task.type] ?? 0;
      if (remaining === 0) return answer;
      left[task.type] = remaining - 1;
      throw new Error("worker ran out of heap");
    },
    workerCount: pool.workerCount,
    close: () => Promise.resolve(),
  };
}

test("a task whose worker dies is repeated with the undisturbed transcript", async () => {
  const undisturbed = await transcriptionEngine(pool).transcribe(wavPath, NEVER);
  const engine = transcriptionEngine(losing({ hear: 1, decode: 1 }));
  assert.deepEqual(await engine.transcribe(wavPath, NEVER), undisturbed);
});

for (const type of ["hear", "decode"] as const) {
  test(`a ${type} task whose worker dies twice fails the transcription`, async () => {
    const engine = transcriptionEngine(losing({ [type]: 2 }));
    await assert.rejects(
      engine.transcribe(wavPath, NEVER),
      (error) =>
        error instanceof ServiceError && error.code === "WORKER_LOST" && error.cause instanceof Error,
    );
  });
}
