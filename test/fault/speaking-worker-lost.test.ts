import assert from "node:assert/strict";
import { test } from "node:test";
import { SpeakSession } from "../../actors/synthesis/speak-session.js";
import { systemClock } from "../../core/ports/clock.js";
import type { SentSpeech, SpeakSink } from "../../core/ports/conversations.js";
import type { Synthesizer } from "../../core/ports/synthesizer.js";
import { SPEAKING } from "../support/catalog.js";
import { synthesisEngine } from "../support/engines.js";
import { eventually } from "../support/eventually.js";
import { FaultOrders } from "../support/faulty/orders.js";
import { FreeMeter } from "../support/free-meter.js";
import { synthesisCredits } from "../support/prices.js";
import { SILENT } from "../support/silent-log.js";

const TEXT = "Қайырлы күн! Бүгін ауа райы өте жақсы болады. Кешке жаңбыр жауады.";
const orders = new FaultOrders();

/** Speaks a text in one turn. @param onSound called with each chunk */
async function spoken(synthesizer: Synthesizer, onSound: () => void = () => {}) {
  const meter = new FreeMeter();
  const pcm: number[] = [];
  const sent: string[] = [];
  let total: SentSpeech | null = null;
  const sink: SpeakSink = {
    send: (message, { session: sums }) => {
      sent.push(message.type);
      if (message.type === "done") total = sums;
    },
    sound: (samples) => {
      for (const sample of samples) pcm.push(sample);
      onSound();
    },
    ready: async () => {},
    close: (code) => void sent.push(String(code)),
  };
  const session = new SpeakSession({
    model: SPEAKING,
    wishes: {
      ...{ model: null, voice: null, speed: 1, nfe: 4, normalize: true },
      ...{ seed: 1, pronunciations: undefined, room_tone: false },
    },
    synthesis: { synthesizer, clock: systemClock },
    meterOf: () => meter.openSpeech(),
    priceOf: synthesisCredits,
    sink,
    log: SILENT,
  });
  for (const piece of TEXT) session.speak(piece);
  session.flush();
  session.close();
  await eventually("the session ends", () => sent.includes("1000"));
  return { pcm, sent, total, settled: meter.calls.filter((call) => call.startsWith("settle")) };
}

test("a session whose workers die in mid-sentence sends the same audio and is charged once", async () => {
  const engine = await synthesisEngine();
  await engine.start();
  const undisturbed = await spoken(engine);
  assert.deepEqual(undisturbed.sent, ["flushed", "done", "1000"]);
  let kills = 0;
  const disturbed = await spoken(engine, () => {
    // The workers die after the first sound of the first sentence, and again in a later one.
    if (kills++ % 4 === 0) orders.failAll("synthesis");
  });
  assert.ok(kills > 4);
  assert.deepEqual(disturbed, undisturbed);
  assert.deepEqual(disturbed.settled.at(0), `settle ${TEXT.length}`);
  await engine.stop();
});
