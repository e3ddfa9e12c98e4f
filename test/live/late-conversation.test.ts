import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../core/domain/errors.js";
import type { LiveConversation } from "../../core/ports/conversations.js";
import { LateConversation } from "../../src/live/late-conversation.js";
import { RecordingSink } from "../support/fake-live.js";
import { ManualTimers } from "../support/manual-timers.js";

const IDLE_MS = 60_000;
const AUDIO = new Uint8Array(2);
const NAMES = ["audio", "finalize", "close", "keepalive", "badMessage", "disconnected", "goingAway"] as const;

/** A session that records its calls. */
function recorded() {
  const calls: string[] = [];
  const record = (name: string) => () => void calls.push(name);
  const session = Object.fromEntries([...NAMES, "unauthorized"].map((name) => [name, record(name)]));
  return { calls, session: session as unknown as LiveConversation };
}

test("the session starts with the first audio, and gets every call from then on", () => {
  const { calls, session } = recorded();
  const sink = new RecordingSink();
  let started = 0;
  const late = new LateConversation(sink, () => {
    started++;
    return session;
  });
  late.finalize();
  late.keepalive();
  assert.equal(started, 0);
  late.audio(AUDIO);
  late.audio(AUDIO);
  late.finalize();
  late.keepalive();
  late.badMessage("x");
  late.goingAway(30);
  late.unauthorized("x");
  late.close();
  late.disconnected();
  assert.equal(started, 1);
  assert.deepEqual(calls, [
    ...["audio", "audio", "finalize", "keepalive", "badMessage", "goingAway", "unauthorized", "close"],
    "disconnected",
  ]);
  assert.deepEqual([sink.messages, sink.closes], [[], []]);
});

test("without audio it ends like a session: closed, going away, without its key, with bad messages", (t) => {
  const timers = ManualTimers.install(t);
  for (const [end, code, types] of [
    [(late: LateConversation) => late.close(), 1000, ["done"]],
    [(late: LateConversation) => late.goingAway(30), 1012, ["going_away"]],
    [(late: LateConversation) => late.unauthorized("ended"), 4401, ["error"]],
    [
      (late: LateConversation) => {
        for (let nth = 0; nth < 12; nth++) late.badMessage("no JSON");
      },
      4400,
      Array.from({ length: 10 }, () => "error"),
    ],
  ] as const) {
    const sink = new RecordingSink();
    const late = new LateConversation(sink, () => assert.fail("no session is needed"));
    end(late);
    late.audio(AUDIO);
    timers.advance(2 * IDLE_MS);
    late.disconnected();
    assert.deepEqual(
      sink.messages.map(({ type }) => type),
      types,
    );
    assert.deepEqual(
      sink.closes.map((close) => close.code),
      [code],
    );
  }
});

test("a client that sends nothing for a minute is closed as idle, but not a client that sends messages", (t) => {
  const timers = ManualTimers.install(t);
  const sink = new RecordingSink();
  const late = new LateConversation(sink, () => assert.fail("no session is needed"));
  timers.advance(IDLE_MS - 1);
  late.keepalive();
  timers.advance(IDLE_MS - 1);
  assert.deepEqual(sink.closes, []);
  timers.advance(1);
  assert.deepEqual(sink.closes, [{ code: 4408, reason: "idle" }]);
});

test("a session that cannot start reports it to the caller of `audio`", () => {
  const late = new LateConversation(new RecordingSink(), () => {
    throw new ServiceError("ENGINE_BUSY", "no worker");
  });
  assert.throws(() => late.audio(AUDIO), { code: "ENGINE_BUSY" });
  late.disconnected();
});
