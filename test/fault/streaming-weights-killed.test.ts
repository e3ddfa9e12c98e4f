// A worker that dies takes the states and windows of its open utterances with it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startLiveWorker } from "../../native/start-workers.js";
import { cut, joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { liveEngine } from "../support/engines.js";
import { eventually } from "../support/eventually.js";
import { FAULTY_ENTRIES } from "../support/faulty/entries.js";
import { FaultOrders } from "../support/faulty/orders.js";
import { tinyWithNearVoice } from "../support/folders.js";
import { finalsOf, LiveListener } from "../support/live-listener.js";
import { momentOfFault, pace } from "../support/pace.js";
import { TINY_RECOGNIZERS } from "../support/tiny-packages.js";

const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
const SPOKEN = [
  joined(silence(0.3), KAZAKH, silence(0.5), speech("asterisk-ru-core/conf-getconfno.flac"), silence(0.4)),
  joined(silence(0.7), speech("asterisk-ru-additional/an-error-has-occured.flac"), silence(0.8), KAZAKH),
];
/**
 * This speech is longer than an utterance may be, so that one is cut in mid-speech. It fills many windows.
 */
const LONG = joined(...Array<Int16Array>(8).fill(KAZAKH));
const MESSAGE_SAMPLES = [1_600, 1_000, 2_311];
/** The time for which a worker serves before it is killed. */
const KILL_MS = 2_000;
/** There are so few kills that even a slow machine can read the long utterance after the last one. */
const KILLS = 6;

const orders = new FaultOrders();

for (const { id, streams } of TINY_RECOGNIZERS) {
  test(`workers of ${id} killed every 2 s change no final`, async (t) => {
    const settings = { modelFolder: await tinyWithNearVoice(id), intraOpThreads: 1, entries: FAULTY_ENTRIES };
    let workersUp = 0;
    const engine = await liveEngine({
      startWorker: async (cells, onMessage) => {
        const worker = await startLiveWorker(settings, cells, onMessage);
        workersUp++;
        return worker;
      },
    });
    await engine.start();
    try {
      const voices = [joined(...SPOKEN), joined(...SPOKEN.toReversed())];
      const undisturbed = [];
      for (const pcm of [...voices, LONG]) undisturbed.push(await finalsOf(engine, [pcm]));
      assert.ok(undisturbed[0]!.length >= 3 && undisturbed[2]!.length >= 2);
      let isOver = false;
      const killing = (async () => {
        for (let kill = 0; kill < KILLS; kill++) {
          await eventually("a worker is up", () => isOver || workersUp > kill);
          await momentOfFault(KILL_MS);
          if (isOver) return;
          orders.failAll("live");
        }
      })();
      // The long speech is sent at once, so that its backlog is replayed too.
      const long = new LiveListener(engine);
      await long.writeAll([LONG]);
      const paced = await Promise.all(
        voices.map((pcm, voice) => spokenTo(new LiveListener(engine), pcm, voice)),
      );
      await long.finish();
      isOver = true;
      await killing;
      t.diagnostic(`${workersUp - 1} workers died`);
      assert.ok(workersUp >= 3, `${workersUp} workers`);
      for (const [voice, listener] of [...paced, long].entries()) {
        assert.deepEqual(listener.finals, undisturbed[voice], `session ${voice}`);
      }
      // Partials of a full-context model are skipped while replays run.
      assert.ok(!streams || paced.some(({ events }) => events.some(({ type }) => type === "partial")));
    } finally {
      await engine.stop();
    }
  });
}

async function spokenTo(listener: LiveListener, pcm: Int16Array, voice: number): Promise<LiveListener> {
  const samples = MESSAGE_SAMPLES[voice % MESSAGE_SAMPLES.length]!;
  for (const piece of cut(pcm, [samples])) {
    await listener.writeAll([piece]);
    await pace((1_000 * samples) / RATE_HZ);
  }
  assert.equal((await listener.finish()).type, "finished");
  return listener;
}
