import assert from "node:assert/strict";
import { test } from "node:test";
import type { SynthesisEngine } from "../../../actors/synthesis/engine.js";
import { ServiceError } from "../../../core/domain/errors.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { startSynthesisWorker } from "../../../native/start-workers.js";
import { synthesisEngine } from "../../support/engines.js";
import { NEEDS_ESPEAK } from "../../support/espeak.js";
import { FAULTY_ENTRIES } from "../../support/faulty/entries.js";
import { FaultOrders } from "../../support/faulty/orders.js";
import { TINY_SYNTHESIZERS } from "../../support/tiny-packages.js";

const orders = new FaultOrders();
const NEVER = new AbortController().signal;
/** The cases of each family, with the reasons why some cannot run everywhere. */
const NEEDS: Readonly<Record<string, { readonly skip: string | boolean }>> = { vits: NEEDS_ESPEAK };
const PACKAGES = TINY_SYNTHESIZERS.map(({ id, family, voice }) => ({
  id,
  voice,
  skip: NEEDS[family]?.skip ?? false,
}));
assert.ok(PACKAGES.length >= 3);

for (const { id, voice, skip } of PACKAGES) {
  const job: SynthesisJob = { modelId: id, voice, spokenText: "сәлем, әлем!", speed: 1, nfe: 4, seed: 7 };
  const settings = {
    modelFolder: `test/fixtures/adapters/${id}`,
    intraOpThreads: 1,
    entries: FAULTY_ENTRIES,
    rows: 4,
  };

  async function started(): Promise<SynthesisEngine> {
    const engine = await synthesisEngine({
      startWorker: (shared, onMessage) => startSynthesisWorker(settings, shared, onMessage),
    });
    await engine.start();
    return engine;
  }

  test(`${id} speaks concurrent requests completely and in separate parts`, { skip }, async () => {
    const engine = await started();
    try {
      const parts: Int16Array[] = [];
      const texts = ["сәлем, әлем!", "бір екі үш төрт бес алты жеті сегіз тоғыз он.", "иә."];
      const pieces = await Promise.all(
        texts.map((spokenText, i) =>
          engine.speak({ ...job, spokenText }, NEVER, i === 0 ? { onPcm: (pcm) => parts.push(pcm) } : {}),
        ),
      );
      const lengths = pieces.map(({ pcm }) => pcm.length);
      assert.ok(lengths[1]! > lengths[0]! && lengths[0]! > lengths[2]! && lengths[2]! > 0, String(lengths));
      assert.equal(
        parts.reduce((sum, part) => sum + part.length, 0),
        lengths[0],
      );
      assert.ok(pieces[0]!.pcm.some((sample) => sample !== 0));
      assert.equal(pieces[0]!.sampleRateHz, 24_000);
    } finally {
      await engine.stop();
    }
  });

  test(`${id} stops a cancelled piece and speaks the next one`, { skip }, async () => {
    const engine = await started();
    try {
      const leaving = new AbortController();
      const long = { ...job, spokenText: "сәлем ".repeat(60).trim() };
      const first = engine.speak(long, leaving.signal);
      const waiting = engine.speak(long, leaving.signal);
      const next = engine.speak(job, NEVER);
      leaving.abort();
      const isCancelled = (error: unknown) => error instanceof ServiceError && error.code === "CANCELLED";
      // Both are aborted at the same time, so either may be cancelled first.
      await Promise.all([first, waiting].map((piece) => assert.rejects(piece, isCancelled)));
      assert.ok((await next).pcm.length > 0);
    } finally {
      await engine.stop();
    }
  });

  test(`${id} continues after its worker was lost`, { skip }, async () => {
    const engine = await started();
    try {
      orders.failAll("synthesis");
      assert.ok((await engine.speak(job, NEVER)).pcm.length > 0);
    } finally {
      await engine.stop();
    }
  });
}
