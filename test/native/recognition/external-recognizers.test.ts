import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startFilePool } from "../../../native/file-pool.js";
import { startLiveWorker, type WorkerSettings } from "../../../native/start-workers.js";
import { joined, silence, tone, wavOf } from "../../support/audio.js";
import { liveEngine, transcriptionEngine } from "../../support/engines.js";
import { temporaryFolder } from "../../support/folders.js";
import { LiveListener } from "../../support/live-listener.js";
import { TINY_RECOGNIZERS } from "../../support/tiny-packages.js";

const NEVER = new AbortController().signal;
const BURST_SECONDS = [1.5, 0.9];
/** Two bursts of changing tones between silences. */
const AUDIO = joined(
  silence(0.6),
  ...[300, 700, 1_900, 500, 2_600].map((hz) => tone(0.3, [hz, 2 * hz])),
  silence(1.2),
  ...[2_200, 400, 900].map((hz) => tone(0.3, [hz, 1.5 * hz])),
  silence(0.8),
);

function settings(id: string): WorkerSettings {
  return { modelFolder: `test/fixtures/adapters/${id}`, intraOpThreads: 1 };
}

// Random weights turn sounds into arbitrary words: the test checks the path through the workers.
for (const { id, livePartials, streams } of TINY_RECOGNIZERS) {
  test(`${id} transcribes a file in the file workers`, async () => {
    const pool = startFilePool({ ...settings(id), workerCount: 1 });
    const engine = transcriptionEngine(pool, { modelId: id, forgets: false });
    await engine.start();
    try {
      const path = join(await temporaryFolder(), "bursts.wav");
      await writeFile(path, wavOf(AUDIO, 16_000, 1));
      const { segments } = await engine.transcribe(path, NEVER);
      assert.equal(segments.length, 2, "one segment for each burst");
      for (const [i, segment] of segments.entries()) {
        const heardSeconds = segment.words.at(-1)!.end - segment.words[0]!.start;
        assert.ok(heardSeconds > 0.6 * BURST_SECONDS[i]!, `words span ${heardSeconds} s`);
        assert.notEqual(segment.text, "");
        assert.equal(segment.words.map(({ word }) => word).join(" "), segment.text);
        for (const { word, start, end } of segment.words) {
          assert.doesNotMatch(word, /[\s▁<]/u);
          // Graphs that stream may output the last word only after the audio.
          const isLate = streams && word === segment.words.at(-1)!.word && start === end;
          assert.ok(0.2 < start && (start < end || isLate), `${start} to ${end}`);
          assert.ok(end < AUDIO.length / 16_000);
        }
      }
    } finally {
      await engine.stop();
    }
  });

  test(`${id} sends a live session partials and finals`, async () => {
    const engine = await liveEngine({
      startWorker: (cells, onMessage) => startLiveWorker(settings(id), cells, onMessage),
    });
    await engine.start();
    try {
      const listener = new LiveListener(engine);
      const pieces = Array.from({ length: Math.ceil(AUDIO.length / 1_000) }, (_, i) =>
        AUDIO.subarray(i * 1_000, (i + 1) * 1_000),
      );
      // These pieces end within the first burst, so that graphs which read it again have an open utterance.
      await listener.writeAll(pieces.slice(0, 32));
      if (livePartials) await listener.seen(({ type }) => type === "partial");
      await listener.writeAll(pieces.slice(32));
      await listener.finish();
      assert.equal(listener.finals.length, 2);
      for (const { text, words } of listener.finals) {
        assert.notEqual(text, "");
        assert.equal(words.map(({ word }) => word).join(" "), text);
        assert.ok(words.every(({ confidence }) => confidence >= 0 && confidence <= 1));
      }
      const partials = listener.events.filter((event) => event.type === "partial");
      assert.equal(partials.length > 0, livePartials, `${partials.length} partials`);
    } finally {
      await engine.stop();
    }
  });
}
