import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { threadTimes, ticksByNiceness } from "../../../bench/support/thread-times.js";
import type { SynthesisJob } from "../../../core/ports/synthesizer.js";
import { NICENESS } from "../../../native/threads/niceness.js";
import { joined, RATE_HZ, silence, speech, wavOf } from "../../support/audio.js";
import { filePool, liveEngine, synthesisEngine, transcriptionEngine } from "../../support/engines.js";
import { temporaryFolder } from "../../support/folders.js";
import { LiveListener } from "../../support/live-listener.js";

const PHRASE = joined(speech("kazakh-speech-commands/example_1.flac"), silence(0.8));
/** A session may lag behind by a minute. */
const BACKLOG = joined(...Array.from({ length: Math.floor((55 * RATE_HZ) / PHRASE.length) }, () => PHRASE));
const SESSIONS = 3;
const JOB: SynthesisJob = {
  modelId: "svc-kk-v1",
  voice: "dauren",
  spokenText: "бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады. ".repeat(4).trim(),
  speed: 1,
  nfe: 64,
  seed: 1,
};

/** The niceness of a thread is added to that of its process. The highest sum is 19. */
const OWN_NICENESS = getPriority(0);
const HIGHEST = 19;

/** Puts all threads of this process on one core; returns the reason if that is not possible. */
function onOneCore(): string | false {
  if (process.platform !== "linux") return "niceness of threads is Linux's";
  if (OWN_NICENESS + NICENESS.transcription > HIGHEST) return "started with nice: no room for three levels";
  const { status } = spawnSync("taskset", ["-acp", "0", String(process.pid)], { stdio: "ignore" });
  return status === 0 ? false : "taskset cannot bind a process to a core here";
}

test("on one core, live goes before synthesis and synthesis before files, without starving either", {
  skip: onOneCore(),
}, async (context) => {
  const folder = await temporaryFolder();
  const wavPath = join(folder, "long.wav");
  await writeFile(wavPath, wavOf(joined(...Array.from({ length: 12 }, () => BACKLOG)), RATE_HZ, 1));
  const live = await liveEngine();
  const synthesis = await synthesisEngine();
  const transcription = transcriptionEngine(filePool());
  const engines = [live, synthesis, transcription];
  await Promise.all(engines.map((engine) => engine.start()));
  const over = new AbortController();
  try {
    const listeners = Array.from({ length: SESSIONS }, () => new LiveListener(live));
    const others = [
      ...Array.from({ length: 8 }, () => synthesis.speak(JOB, over.signal)),
      transcription.transcribe(wavPath, over.signal),
    ].map((work) =>
      work.then(
        () => assert.fail("it must be more than fits beside live"),
        () => {},
      ),
    );
    const before = threadTimes(process.pid);
    for (const listener of listeners) listener.feed.write(BACKLOG);
    await Promise.all(listeners.map((listener) => listener.finish()));
    const ticks = ticksByNiceness(before, threadTimes(process.pid), process.pid);
    over.abort();
    await Promise.all(others);
    const of = (kind: keyof typeof NICENESS) => ticks.get(OWN_NICENESS + NICENESS[kind]) ?? 0;
    const report = `live ${of("live")}, synthesis ${of("synthesis")}, files ${of("transcription")} ticks`;
    context.diagnostic(report);
    assert.ok(of("live") > 1.5 * of("synthesis"), report);
    assert.ok(of("synthesis") > 1.5 * of("transcription"), report);
    assert.ok(of("transcription") > 0, report);
  } finally {
    over.abort();
    await Promise.all(engines.map((engine) => engine.stop()));
  }
});
