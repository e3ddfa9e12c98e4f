import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { streamSentences } from "../../bench/support/speech-client.js";
import { startServiceProcess } from "../support/service-process.js";

test("a service that loads models and speaks writes nothing outside its data folder", async () => {
  const home = await mkdtemp(join(tmpdir(), "dauys-home-"));
  try {
    const service = await startServiceProcess({ HOME: home, TMPDIR: home });
    const speech = await streamSentences(service, { text: "Сәлем", nfe: 4 });
    assert.ok(speech.audioSeconds > 0.2);
    // onnxruntime stores its usage data here before uploading it.
    assert.equal(existsSync(join("/tmp", `mat-debug-${service.child.pid}.log`)), false);
    assert.deepEqual(await readdir(home, { recursive: true }), []);
    assert.equal(await service.stop(), 0, service.output());
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
