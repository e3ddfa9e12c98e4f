import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { NO_VOCABULARY } from "../../core/domain/vocabulary.js";
import { createLog } from "../../core/observe/log.js";
import { systemClock } from "../../core/ports/clock.js";
import type { LiveSink } from "../../core/ports/conversations.js";
import type { FrontRequest, FrontSocket } from "../../core/ports/front.js";
import { KeyEndings } from "../../src/http/key-endings.js";
import type { RouteDeps } from "../../src/http/router.js";
import { OrganizationSlots, RunningWork } from "../../src/http/running-work.js";
import { createStreamUpgrade } from "../../src/live/upgrade.js";
import { FakeConversations, FakeKeys, GOOD_KEY } from "../http/fake-conversations.js";
import { streamTokens } from "../support/stream-tokens.js";

/** Opens a live socket whose client is ahead of real time. Its session receives audio through `audio`. */
async function opened(path: string, audio: (bytes: Uint8Array) => void = () => {}) {
  const conversations = new FakeConversations();
  let sink: LiveSink | undefined;
  let handedOn = 0;
  conversations.live = (_caller, _options, theirs) => {
    sink = theirs;
    const nothing = () => {};
    const count = (bytes: Uint8Array) => {
      handedOn++;
      audio(bytes);
    };
    return {
      ...{ audio: count, finalize: nothing, close: nothing, keepalive: nothing, badMessage: nothing },
      ...{ disconnected: nothing, goingAway: nothing, unauthorized: nothing },
    };
  };
  const logLines: string[] = [];
  const log = createLog({
    level: "info",
    destination: { write: (line: string) => void logLines.push(line) },
  });
  const upgrade = createStreamUpgrade({
    ...{ conversations, log, keys: new FakeKeys(), endings: new KeyEndings(), running: new RunningWork() },
    ...{ clock: systemClock, tokens: streamTokens() },
    slots: new OrganizationSlots(() => CONCURRENCY_LIMITS.paid),
    vocabularies: { of: async () => NO_VOCABULARY },
  } as unknown as RouteDeps);
  const headers = new Map([["authorization", `Bearer ${GOOD_KEY}`]]);
  const decision = await upgrade({
    ...{ method: "GET", path, query: new URLSearchParams(), malformed: null, headers },
    header: (name: string) => headers.get(name.toLowerCase()),
  } as unknown as FrontRequest);
  assert.equal(decision.type, "accept");
  const closes: number[] = [];
  const socket: FrontSocket = {
    bufferedBytes: 0,
    sendText: () => {},
    sendBinary: () => {},
    close: (code) => void closes.push(code),
    terminate: () => {},
  };
  assert.ok(decision.type === "accept");
  const events = decision.open(socket);
  assert.ok(sink !== undefined);
  // The first bytes are held back, because they may be those of a file. After that some messages arrive fast
  // enough to be joined, even on a slow machine.
  for (let before = -1; handedOn === 0 || handedOn > before; ) {
    before = handedOn;
    events.binary(new Uint8Array(2));
  }
  return { events, sink, closes, logLines };
}

test("audio that arrives while its session is ending is dropped, on both protocols", async () => {
  for (const path of ["/v1/stream", "/v1/listen"]) {
    const { events, sink, closes, logLines } = await opened(path);
    sink.send({ type: "done", audio_seconds: 1, credits_charged: 6 });
    sink.close(1000, "done");
    // Joined audio is delivered in a later turn of the event loop.
    await nextTurn();
    await nextTurn();
    events.binary(new Uint8Array(2));
    events.closed(1000, "");
    assert.deepEqual(closes, [1000], path);
    assert.ok(!logLines.some((line) => line.includes("live audio failed")), path);
  }
});

test("a failure at gathered audio ends only its own session", async () => {
  let isBroken = false;
  const { closes, logLines } = await opened("/v1/stream", () => {
    if (isBroken) throw new Error("broken");
  });
  isBroken = true;
  await nextTurn();
  await nextTurn();
  assert.deepEqual(closes, [1011]);
  assert.ok(logLines.some((line) => line.includes("live audio failed")));
});
