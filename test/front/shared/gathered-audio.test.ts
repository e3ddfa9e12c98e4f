import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { GatheredAudio, MessageBudget } from "../../../src/front/shared/live-messages.js";

function gatherer(): { readonly audio: GatheredAudio; readonly delivered: Buffer[] } {
  const delivered: Buffer[] = [];
  const audio = new GatheredAudio((bytes) => void delivered.push(Buffer.from(bytes)));
  return { audio, delivered };
}

test("thousands of one-byte messages are delivered in a few batches, in order, byte for byte", async (t) => {
  // With a fixed clock all messages arrive at the same moment, even on a busy machine.
  t.mock.method(performance, "now", () => 0);
  const { audio, delivered } = gatherer();
  for (let i = 0; i < 100_000; i++) audio.push(Uint8Array.of(i & 255));
  await nextTurn();
  assert.ok(delivered.length < 20, `${delivered.length} calls`);
  const whole = Buffer.concat(delivered);
  assert.ok(whole.equals(Buffer.from(Uint8Array.from({ length: 100_000 }, (_, i) => i & 255))));
});

test("messages at the pace of speech are delivered immediately, one by one", () => {
  let nowMs = 0;
  const clock = mock.method(performance, "now", () => nowMs);
  const { audio, delivered } = gatherer();
  for (let i = 0; i < 1_000; i++) {
    nowMs += 20;
    audio.push(new Uint8Array(640));
    assert.equal(delivered.length, i + 1);
  }
  clock.mock.restore();
});

test("flush delivers joined messages first, and a calm client returns to immediate delivery", async (t) => {
  t.mock.method(performance, "now", () => 0);
  const { audio, delivered } = gatherer();
  for (let i = 0; i < 40; i++) audio.push(Uint8Array.of(i));
  audio.flush();
  assert.equal(Buffer.concat(delivered).length, 40);
  audio.push(new Uint8Array(200_000));
  assert.equal(delivered.at(-1)?.length, 200_000, "a message longer than a block is not copied");
  await nextTurn();
  audio.push(Uint8Array.of(1));
  await nextTurn();
  const before = delivered.length;
  audio.push(Uint8Array.of(2));
  assert.equal(delivered.length, before + 1);
});

test("the budget delays no speech, regardless of message size and lead", () => {
  const sixtySecondsBytes = 60 * 32_000;
  // Messages of 10 ms and of 5 ms, the chunking of other tests, and a telephone's 10 ms far ahead of real
  // time.
  for (const sizes of [[320], [160], [2, 666, 3_200], [80]]) {
    const budget = new MessageBudget(() => 0);
    const telephone = sizes[0] === 80 ? sixtySecondsBytes / 4 : sixtySecondsBytes;
    for (let sent = 0, i = 0; sent < telephone; i++) {
      const size = sizes[i % sizes.length]!;
      assert.equal(budget.binary(size), "take");
      sent += size;
    }
    for (let i = 0; i < 100; i++) assert.equal(budget.text(20), "take");
  }
});

test("a flood is dropped and reported once, then its client is disconnected", () => {
  const budget = new MessageBudget(() => 0);
  const verdicts = new Map<string, number>();
  for (let i = 0; i < 200_000; i++) {
    const verdict = budget.binary(1);
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
  }
  assert.equal(verdicts.get("flood"), 1);
  assert.ok((verdicts.get("take") ?? 0) <= 13_000);
  assert.ok((verdicts.get("cut") ?? 0) > 0);
  assert.equal(budget.text(10), "cut", "time does not make it good");
  const pings = new MessageBudget(() => 0);
  let answered = 0;
  while (pings.control() === "take") answered++;
  assert.equal(answered, 300);
  const texts = new MessageBudget(() => 0);
  let parsed = 0;
  while (texts.text(20) === "take") parsed++;
  assert.ok(parsed > 500 && parsed <= 600, `${parsed} texts`);
});
