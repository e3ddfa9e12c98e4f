import assert from "node:assert/strict";
import { test } from "node:test";
import { arrivals } from "../../../src/cli/bench/arrivals.js";
import { Budget } from "../../../src/cli/bench/budget.js";
import { compared, differenceInterval } from "../../../src/cli/bench/compare.js";
import { Histogram } from "../../../src/cli/bench/histogram.js";
import type { SessionRun } from "../../../src/cli/bench/live-session.js";
import { outcomeOf } from "../../../src/cli/bench/live-times.js";
import { distributionOf, NO_OUTCOME, type Outcome, summarized } from "../../../src/cli/bench/outcome.js";
import { doubledLoads, pastKnee, rampedLevels } from "../../../src/cli/bench/ramp.js";
import { type BenchResult, type LevelResult, parseResult } from "../../../src/cli/bench/result.js";
import { Player } from "../../../src/cli/bench/speech.js";
import * as fc from "../../support/properties.js";

const PLAN = {
  frames: [],
  utterances: [
    { text: "бір екі", onset: 0.5, end: 2 },
    { text: "үш төрт", onset: 3, end: 4 },
  ],
  seconds: 6,
};
const RUN: SessionRun = {
  events: [
    { event: { type: "partial", end: 0.9 }, atMs: 1_910 },
    { event: { type: "final", text: "Бір, екі", end: 2.1 }, atMs: 3_215 },
    { event: { type: "partial", end: 3.5 }, atMs: 4_540 },
    { event: { type: "final", text: "төрт", end: 4 }, atMs: 5_250 },
  ],
  readyMs: 12,
  startedAtMs: 1_000,
  sentSeconds: 6,
  failure: null,
  credits: 36,
};

test("delays count from when the sample was spoken", () => {
  const { values, timed, missed, sentences } = outcomeOf(RUN, PLAN, 500);
  assert.deepEqual(values, {
    final: [215, 250],
    first_partial: [410, 540],
    partial_lag: [10, 40],
    ready: [12],
  });
  assert.deepEqual(timed, [
    { second: 2.5, value: 215 },
    { second: 4.5, value: 250 },
  ]);
  assert.deepEqual([missed, sentences], [0, 2]);
});

test("word errors ignore capitals and punctuation", () => {
  assert.deepEqual(outcomeOf(RUN, PLAN, 0).words, [
    { edits: 0, length: 2 },
    { edits: 1, length: 2 },
  ]);
});

test("a sentence without a final near its end is missed", () => {
  const events = RUN.events.filter(({ event }) => event.type !== "final" || event.end !== 4);
  const { values, missed } = outcomeOf({ ...RUN, events }, PLAN, 0);
  assert.deepEqual([values.final, missed], [[215], 1]);
});

test("finals without times belong to the sentence before them", () => {
  const events = [2_900, 3_230, 5_260].map((atMs) => ({
    event: { type: "final" as const, text: "бір", end: null },
    atMs,
  }));
  assert.deepEqual(outcomeOf({ ...RUN, events }, PLAN, 0).values.final, [230, 260]);
});

test("sentences that were not sent do not count", () => {
  const { sentences, missed } = outcomeOf({ ...RUN, sentSeconds: 3.2 }, PLAN, 0);
  assert.deepEqual([sentences, missed], [1, 0]);
});

test("a histogram's percentiles are within 0.5 % of the sorted values", () => {
  const values = fc.array(fc.double({ min: -50, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(values, fc.constantFrom(0.5, 0.95, 0.99), (list, share) => {
      const sorted = list.toSorted((a, b) => a - b);
      const exact = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
      const found = new Histogram().addAll(list).percentile(share);
      assert.ok(Math.abs(found - exact) <= 0.005 * Math.abs(exact) + 0.005, `${found} for ${exact}`);
    }),
  );
});

test("percentiles are exact, and inside their intervals", () => {
  const units = Array.from({ length: 50 }, (_, unit) => Array.from({ length: 10 }, (_, n) => unit + n / 10));
  const found = distributionOf(units)!;
  assert.deepEqual([found.count, found.p50.value, found.p95.value, found.max], [500, 25, 47.5, 49.9]);
  for (const { low, value, high } of [found.p50, found.p95, found.p99])
    assert.ok(low <= value && value <= high);
  // 500 values in 50 units are worth 50 values: an interval over single values would be 7 wide.
  assert.ok(found.p50.high - found.p50.low > 7, JSON.stringify(found.p50));
  assert.equal(
    found.histogram.reduce((sum, [, count]) => sum + count, 0),
    500,
  );
  assert.equal(distributionOf([[], []]), null);
});

test("arrivals follow the rate and never depend on responses", () => {
  assert.deepEqual(arrivals(4, 1, true), [0, 250, 500, 750]);
  const random = arrivals(50, 100, false);
  assert.deepEqual(random, arrivals(50, 100, false));
  assert.ok(Math.abs(random.length - 5_000) < 4 * Math.sqrt(5_000), `${random.length}`);
});

test("a budget admits nothing after the first work that does not fit", () => {
  const budget = new Budget(100);
  assert.deepEqual([budget.reserve(60), budget.reserve(60), budget.reserve(10)], [true, false, false]);
  assert.equal(budget.isUsedUp, true);
  budget.settle(60, 55);
  assert.equal(budget.spent, 55);
  const counted = new Budget(100);
  counted.reserve(60);
  counted.settle(60, 10);
  assert.equal(counted.reserve(90), true);
});

test("loads double up to the highest, sessions in whole numbers", () => {
  assert.deepEqual(doubledLoads("live", 100), [7, 13, 25, 50, 100]);
  assert.deepEqual(doubledLoads("live", 3), [1, 2, 3]);
  assert.deepEqual(doubledLoads("speech", 1), [0.0625, 0.125, 0.25, 0.5, 1]);
});

test("the knee is narrowed between the last good load and the first bad one", async () => {
  const { levels, knee } = await rampedLevels("live", 64, async (load) =>
    levelOf(load, load > 20 ? 900 : 210),
  );
  assert.deepEqual(
    levels.map(({ load }) => load),
    [4, 8, 16, 20, 24, 32],
  );
  assert.deepEqual([knee.below, knee.above], [20, 24]);
  assert.match(knee.rule, /^p95 is 900 ms, more than twice the 210 ms of the lowest load$/);
});

test("a ramp without a knee says so, and one that is stopped keeps its levels", async () => {
  const flat = await rampedLevels("live", 16, async (load) => levelOf(load, 210));
  assert.deepEqual([flat.knee.below, flat.knee.above, flat.levels.length], [16, null, 5]);
  const stopped = await rampedLevels("live", 16, async (load) => (load > 2 ? null : levelOf(load, 210)));
  assert.equal(stopped.levels.length, 2);
});

test("failures and missing finals are past the knee", () => {
  const low = levelOf(1, 210);
  assert.equal(pastKnee(levelOf(8, 400), low, "live"), null);
  assert.equal(pastKnee({ ...low, started: 100, failed: 2 }, low, "live"), "2 of 100 failed");
  assert.equal(
    pastKnee({ ...low, sentences: 100, missed: 2 }, low, "live"),
    "2 of 100 sentences had no final",
  );
  assert.equal(pastKnee({ ...low, metrics: {} }, low, "live"), "no value was measured");
});

test("a difference is clear only if its interval excludes zero", () => {
  assert.deepEqual(differenceInterval({ value: 10, low: 7, high: 14 }, { value: 20, low: 17, high: 24 }), {
    value: 10,
    low: 5,
    high: 15,
  });
  const [same] = compared(resultOf([levelOf(4, 210)]), resultOf([levelOf(4, 210)]));
  assert.equal(same?.verdict, "no clear difference");
  const [worse] = compared(resultOf([levelOf(4, 210)]), resultOf([levelOf(4, 300)]));
  assert.deepEqual([worse?.verdict, worse?.change.value], ["worse", 90]);
  assert.throws(
    () => compared(resultOf([levelOf(4, 210)]), resultOf([levelOf(8, 210)])),
    /no load in common/,
  );
});

test("a player underruns when the next part arrives after its audio has ended", () => {
  const second = (loud: boolean) => Buffer.from(new Int16Array(24_000).fill(loud ? 900 : 0).buffer);
  const player = new Player(false);
  player.receive(second(false), 1_000);
  player.receive(second(true), 1_900);
  player.receive(second(true), 3_100);
  player.receive(second(true), 4_050);
  const { firstAudioAtMs, firstSoundAtMs, underruns, seconds } = player;
  assert.deepEqual(
    { firstAudioAtMs, firstSoundAtMs, underruns, seconds },
    { firstAudioAtMs: 1_000, firstSoundAtMs: 1_900, underruns: 1, seconds: 4 },
  );
});

test("frames of speech may be cut anywhere", () => {
  const wav = Buffer.concat([Buffer.alloc(44), Buffer.from(new Int16Array(240).fill(900).buffer)]);
  const frame = Buffer.concat([Buffer.from([0, 0, wav.length >> 8, wav.length & 255]), wav]);
  const stream = Buffer.concat([frame, frame]);
  for (const size of [1, 7, 300, stream.length]) {
    const player = new Player(true);
    for (let start = 0; start < stream.length; start += size)
      player.receive(stream.subarray(start, start + size), 1);
    assert.equal(player.seconds, 480 / 24_000, `${size}`);
  }
});

test("a file that is not a result is rejected with its name", () => {
  assert.throws(() => parseResult("{", "a.json"), /cannot read a\.json: it is not JSON/);
  assert.throws(
    () => parseResult("[]", "a.json"),
    /expected a result with format "dauys-bench-1", received null/,
  );
});

function levelOf(load: number, ms: number): LevelResult {
  const outcomes = Array.from({ length: 30 }, (): Outcome => ({ ...NO_OUTCOME, values: { final: [ms] } }));
  const lateness = new Histogram();
  return summarized(outcomes, { load, seconds: 60, own_cpu_percent: 1, lateness });
}

function resultOf(levels: readonly LevelResult[]): BenchResult {
  return {
    ...{ format: "dauys-bench-1", date: "2026-01-01T00:00:00.000Z", url: "http://127.0.0.1:1" },
    ...{ scenario: "live", wire: "dauys", parameters: {}, clips: [], machine: { cpu: "x", cores: 1 } },
    ...{ node: "v20", end: "complete", credits_estimated: 0, credits: 0, levels, knee: null },
  };
}
