import assert from "node:assert/strict";
import { type ClientRequest, request } from "node:http";
import { after, before, test } from "node:test";
import type { SynthesisEngine } from "../../actors/synthesis/engine.js";
import { planSynthesis } from "../../actors/synthesis/plan.js";
import { SynthesisSession } from "../../actors/synthesis/session.js";
import { systemClock } from "../../core/ports/clock.js";
import type { Delivery } from "../../core/ports/conversations.js";
import { FakeConversations, GOOD_KEY, NOBODY } from "../http/fake-conversations.js";
import { FRONTS, type RunningTransport, startTransport } from "../http/running-transport.js";
import { CATALOG } from "../support/catalog.js";
import { deferred } from "../support/deferred.js";
import { synthesisEngine } from "../support/engines.js";
import { eventually } from "../support/eventually.js";
import { momentOfFault, stays, within } from "../support/pace.js";

const SENTENCE = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. ";
/** Three sentences with so many steps that they run for a long time. */
const BODY = JSON.stringify({ text: SENTENCE.repeat(3), nfe: 64 });
const GONE_WITHIN_MS = 60_000;
/** Long enough for dozens of further runs, if any were made. */
const AFTERWARDS_MS = 400;

let engine: SynthesisEngine;

before(async () => {
  engine = await synthesisEngine();
  await engine.start();
});

after(() => engine.stop());

/** What the engine had started before its session was stopped because the client left. */
interface Left {
  readonly runs: number;
  readonly reason: string;
}

/** The transport over the real engine, without keys or billing. */
async function transportOver(front: "node" | "uws") {
  const conversations = new FakeConversations();
  let left = deferred<Left>();
  conversations.synthesis = async (_caller, wanted, delivery: Delivery) => {
    const plan = await planSynthesis(wanted, CATALOG.speaking.default);
    const session = new SynthesisSession(plan, { synthesizer: engine, delivery, clock: systemClock });
    return {
      modelId: session.modelId,
      billedCharacters: session.billedCharacters,
      creditsCharged: 0,
      sampleRateHz: session.sampleRateHz,
      mostHeldBytes: session.mostHeldBytes,
      chunks: () => session.chunks(),
      charge: async () => {},
      sentence: NOBODY,
      answer: NOBODY,
      complete: () => {},
      stop: (reason) => {
        session.stop(reason);
        left.resolve({ runs: engine.modelRuns, reason });
      },
    };
  };
  const running = await startTransport(front, { conversations });
  const nextLeft = () => {
    left = deferred<Left>();
    return left.promise;
  };
  return { running, nextLeft };
}

function post({ port }: RunningTransport, path: string): ClientRequest {
  const headers = { authorization: `Bearer ${GOOD_KEY}`, "content-type": "application/json" };
  const sent = request({ host: "127.0.0.1", port, path, method: "POST", headers });
  // The response ends together with the connection, as intended.
  sent.on("error", () => {});
  sent.on("response", (answer) => answer.on("error", () => {}).resume());
  sent.end(BODY);
  return sent;
}

for (const front of FRONTS) {
  test(`${front}: a client that leaves costs at most one model run`, async () => {
    const { running, nextLeft } = await transportOver(front === "uws" ? "uws" : "node");
    try {
      for (const path of ["/v1/tts", "/v1/tts/stream?timestamps=true"]) {
        for (const waitMs of [20, 90, 250]) {
          const left = nextLeft();
          const runsBefore = engine.modelRuns;
          const sent = post(running, path);
          await eventually("the model runs", () => engine.modelRuns > runsBefore);
          await momentOfFault(waitMs);
          sent.destroy();
          const { runs, reason } = await within(
            GONE_WITHIN_MS,
            "the engine learns that the client has left",
            left,
          );
          assert.equal(reason, "client-left");
          await stays("at most one run more", () => engine.modelRuns - runs <= 1, AFTERWARDS_MS);
          await eventually("the engine is idle", async () => engine.jobCount === 0);
          const more = engine.modelRuns - runs;
          assert.ok(more <= 1, `${path}: ${more} model runs after the client left at ${waitMs} ms`);
        }
      }
    } finally {
      await running.stop();
    }
  });
}
