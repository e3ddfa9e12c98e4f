import assert from "node:assert/strict";
import { test } from "node:test";
import { type LiveRun, runLive } from "../../bench/support/live-client.js";
import { joined, RATE_HZ, silence, speech } from "../support/audio.js";
import { FAULTY_MAIN } from "../support/faulty/entries.js";
import { momentOfFault, pace } from "../support/pace.js";
import { SEED, uniform } from "../support/seed.js";
import { creditDevelopment, type ServiceProcess, startServiceProcess } from "../support/service-process.js";

/** `node scripts/live-kills.mjs 120` runs the test for 120 seconds. */
const SECONDS = Number(process.env["LIVE_KILL_SECONDS"] ?? 10);
const SESSIONS = 50;
/**
 * Slightly less than the backlog that a session may have, because the service processes audio while it
 * arrives.
 */
const MAX_BACKLOG_SECONDS = 50;
/** Sessions share these voices, so that one undisturbed run of each voice is enough for the comparison. */
const VOICES = 5;
/** On average, a worker is killed every 2 s. */
const PAUSE_MS = { least: 1_000, most: 3_000 };

const SENTENCES = [
  "kazakh-speech-commands/example_1.flac",
  "asterisk-ru-core/conf-getconfno.flac",
  "asterisk-ru-additional/an-error-has-occured.flac",
  "asterisk-ru-additional/all-circuits-busy-now.flac",
].map((file) => speech(file));

test(`live workers killed at random for ${SECONDS} s lose no word of ${SESSIONS} paced sessions`, async (t) => {
  const service = await startServiceProcess(
    { MODEL_PRELOAD: "true", LIVE_PER_ORG: "1000" },
    { main: FAULTY_MAIN },
  );
  try {
    await creditDevelopment(service, 1_000_000_000);
    const voices = Array.from({ length: VOICES }, (_, voice) => speechOf(voice));
    // The audio is sent unpaced while the session's backlog has room.
    const isLong = SECONDS > MAX_BACKLOG_SECONDS;
    const undisturbed = await Promise.all(
      voices.map(async (pcm) => finalsOf(await speak(service, pcm, isLong))),
    );
    for (const finals of undisturbed) assert.ok(finals.length > 0, "the undisturbed run hears something");
    const killing = killAtRandom(service);
    const runs = await Promise.all(
      Array.from({ length: SESSIONS }, async (_, index) => {
        await pace((index * 1_000) / SESSIONS);
        return speak(service, voices[index % VOICES]!, true);
      }),
    );
    await killing;
    const deaths = service.output().match(/live worker ended/g)?.length ?? 0;
    t.diagnostic(`${deaths} workers died`);
    assert.ok(deaths >= SECONDS / 10, `${deaths} workers died`);
    for (const [index, run] of runs.entries()) {
      assert.equal(run.closeCode, 1000, "the socket was closed by its own wish");
      requireOrder(run);
      assert.deepEqual(finalsOf(run), undisturbed[index % VOICES], `session ${index}`);
    }
  } finally {
    assert.equal(await service.stop(), 0, service.output());
  }
});

/**
 * Sentences with pauses between them, in a different order for each voice, for the whole duration of the
 * test.
 */
function speechOf(voice: number): Int16Array {
  const parts = [silence(0.2 + voice * 0.13)];
  for (let nth = voice; joined(...parts).length < SECONDS * RATE_HZ; nth++) {
    parts.push(SENTENCES[nth % SENTENCES.length]!, silence(0.45 + (nth % 3) * 0.3));
  }
  return joined(...parts);
}

function speak(service: ServiceProcess, pcm: Int16Array, isPaced: boolean): Promise<LiveRun> {
  return runLive({
    url: service.url,
    key: service.key,
    pcm,
    messageSamples: [1_600, 700, 2_311],
    isPaced,
    query: "?words=true",
  });
}

/**
 * Kills workers as long as there is speech. A machine too slow to catch up between two kills catches up after
 * the last one.
 */
async function killAtRandom(service: ServiceProcess): Promise<void> {
  const random = uniform(SEED);
  const endMs = performance.now() + SECONDS * 1_000;
  while (performance.now() < endMs) {
    await momentOfFault(PAUSE_MS.least + random() * (PAUSE_MS.most - PAUSE_MS.least));
    service.child.kill("SIGUSR2");
  }
}

function finalsOf(run: LiveRun): unknown[] {
  return run.received.flatMap(({ message }) => (message.type === "final" ? [message] : []));
}

/**
 * Checks that each final arrives once, that utterances are in order, and that no message about an utterance
 * follows its final.
 */
function requireOrder(run: LiveRun): void {
  let next = 0;
  for (const { message } of run.received) {
    if (message.type === "final") assert.equal(message.utterance, next++);
    if (message.type === "partial") assert.equal(message.utterance, next);
  }
  assert.ok(next > 0, "there were finals");
}
