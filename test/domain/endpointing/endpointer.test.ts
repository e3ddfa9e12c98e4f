import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type EndpointEvent,
  Endpointer,
  type EndpointerOptions,
  pauseFramesFor,
} from "../../../core/domain/endpointing/endpointer.js";
import { patienceAfter } from "../../../core/domain/endpointing/patience.js";
import { say } from "./endpoint-events.js";

/** One letter per frame: `#` is speech, `.` is silence, `~` is between the thresholds. */
const PROBABILITY: Readonly<Record<string, number>> = { "#": 0.9, ".": 0.05, "~": 0.47 };

function eventsOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter, frame) =>
    endpointer.push(PROBABILITY[letter]!).map((event) => `${frame} ${say(event)}`),
  );
}

/** Events with their mean probability of speech, in whole hundredths. */
function meansOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter) =>
    endpointer
      .push(PROBABILITY[letter]!)
      .flatMap((event) =>
        "speechMean" in event ? [`${event.type} ${Math.round(100 * event.speechMean)}`] : [],
      ),
  );
}

test("the mean probability of speech covers the frames from the first with speech to the end", () => {
  assert.deepEqual(meansOf("####......."), ["halfway 90", "ended 90"]);
  // There is one doubtful frame inside. Silence before the onset and after the end does not count.
  assert.deepEqual(meansOf("..##~##......"), ["halfway 81", "ended 81"]);
  // If speech resumes, the silence in between is included.
  assert.deepEqual(meansOf("####...####......"), ["halfway 90", "halfway 67", "ended 67"]);
});

test("a cut utterance's mean covers the frames before the cut; the next one's covers its own", () => {
  const options = { longestFrames: 30, cutWindowFrames: 10, leadFrames: 2, openingFrames: 2 };
  const endpointer = new Endpointer(options);
  const ended: EndpointEvent[] = [];
  for (let frame = 0; frame < 60; frame++) {
    const probability = frame === 27 ? 0.5 : frame < 45 ? 1 : 0;
    ended.push(...endpointer.push(probability).filter(({ type }) => type === "ended"));
  }
  const means = ended.map(
    (event) => event.type === "ended" && [event.startFrame, event.endFrame, event.speechMean],
  );
  assert.deepEqual(means, [
    [0, 27, 1],
    [27, 45, 17.5 / 18],
  ]);
});

test("the mean does not depend on how much came before the utterance", () => {
  const said = "..##~##....";
  const late = meansOf(`${"#....#~~....".repeat(40)}..............${said}`).at(-1);
  assert.equal(late, meansOf(`..............${said}`).at(-1));
});

test("an utterance opens with its second speech frame and starts before the first", () => {
  assert.deepEqual(eventsOf("..........##"), ["11 started #0 2"]);
});

test("an utterance at the very start begins at frame 0", () => {
  assert.deepEqual(eventsOf("...##"), ["4 started #0 0"]);
});

test("a single speech frame counts as a click", () => {
  assert.deepEqual(eventsOf("....#....#.....#.......#"), []);
});

test("reports halfway at half of the pause, and the end at all of it", () => {
  assert.deepEqual(eventsOf("####......."), ["1 started #0 0", "6 halfway #0 0-4", "8 ended #0 0-4 pause"]);
});

test("speech after halfway resumes, and the next pause reports halfway again", () => {
  assert.deepEqual(eventsOf("####...##....."), [
    "1 started #0 0",
    "6 halfway #0 0-4",
    "7 resumed #0 0",
    "11 halfway #0 0-9",
    "13 ended #0 0-9 pause",
  ]);
});

test("speech in the last frame before the end still resumes", () => {
  assert.deepEqual(eventsOf("####....#"), ["1 started #0 0", "6 halfway #0 0-4", "8 resumed #0 0"]);
});

test("the start of an utterance never reaches into the previous one", () => {
  assert.deepEqual(eventsOf("####.....##.....").slice(-3), [
    "10 started #1 4",
    "13 halfway #1 4-11",
    "15 ended #1 4-11 pause",
  ]);
});

test("the lower threshold continues speech but does not begin it", () => {
  assert.deepEqual(eventsOf("~~~~##~~~~....."), [
    "5 started #0 0",
    "12 halfway #0 0-10",
    "14 ended #0 0-10 pause",
  ]);
});

test("the shortest pause ends an utterance immediately", () => {
  assert.deepEqual(eventsOf("##.", { pauseFrames: 1 }), ["1 started #0 0", "2 ended #0 0-2 pause"]);
});

test("finalize ends only the open utterance", () => {
  const endpointer = new Endpointer();
  assert.deepEqual(endpointer.finalizeNow(), []);
  for (const letter of "..###.") endpointer.push(PROBABILITY[letter]!);
  assert.deepEqual(endpointer.finalizeNow().map(say), ["ended #0 0-5 finalize"]);
  assert.deepEqual(endpointer.finalizeNow(), []);
  assert.deepEqual(
    [..."....."].flatMap(() => endpointer.push(0)),
    [],
  );
});

test("speech that continues after finalize is the next utterance", () => {
  const endpointer = new Endpointer();
  for (const letter of "####") endpointer.push(PROBABILITY[letter]!);
  endpointer.finalizeNow();
  assert.deepEqual(endpointer.push(0.9).map(say), ["started #1 4"]);
});

const SMALL = { longestFrames: 30, cutWindowFrames: 10 } as const;

test("an utterance of the maximum length is cut where speech was least probable", () => {
  const frames = `${"#".repeat(24)}~${"#".repeat(10)}`;
  assert.deepEqual(eventsOf(frames, SMALL), [
    "1 started #0 0",
    "30 ended #0 0-24 too-long",
    "30 started #1 24",
  ]);
});

test("silence after a cut gap is not an utterance", () => {
  const frames = `${"#".repeat(26)}....#.......`;
  assert.deepEqual(eventsOf(frames, SMALL), [
    "1 started #0 0",
    "28 halfway #0 0-26",
    "30 resumed #0 0",
    "30 ended #0 0-26 too-long",
  ]);
});

test("an utterance of exactly the maximum length ends by its pause", () => {
  assert.deepEqual(eventsOf(`${"#".repeat(30)}.....`, SMALL).at(-1), "34 ended #0 0-30 pause");
});

test("endless speech is cut repeatedly without loss", () => {
  const ends = eventsOf("#".repeat(100), SMALL).filter((line) => line.includes("ended"));
  assert.deepEqual(ends, [
    "30 ended #0 0-30 too-long",
    "60 ended #1 30-60 too-long",
    "90 ended #2 60-90 too-long",
  ]);
});

test("NaN counts as silence", () => {
  const endpointer = new Endpointer();
  endpointer.push(0.9);
  endpointer.push(0.9);
  const events = Array.from({ length: 5 }, () => endpointer.push(Number.NaN)).flat();
  assert.deepEqual(events.map(say), ["halfway #0 0-2", "ended #0 0-2 pause"]);
});

test("an utterance of the maximum length is cut at NaN, the least probable speech", () => {
  const endpointer = new Endpointer(SMALL);
  const frames = Array.from({ length: 31 }, (_, frame) => (frame === 25 ? Number.NaN : 0.9));
  const events = frames.flatMap((probability) => endpointer.push(probability));
  assert.deepEqual(events.map(say), ["started #0 0", "ended #0 0-25 too-long", "started #1 25"]);
});

test("milliseconds become whole frames, rounded up", () => {
  assert.deepEqual([100, 200, 201, 2_000].map(pauseFramesFor), [3, 5, 6, 50]);
});

test("contradictory options are rejected by name", () => {
  assert.throws(
    () => new Endpointer({ offThreshold: 0.6 }),
    /offThreshold must be at most 0.5, received 0.6/,
  );
  assert.throws(() => new Endpointer({ pauseFrames: 0 }), /pauseFrames .*received 0/);
  assert.throws(() => new Endpointer({ longestFrames: 100 }), /longestFrames .*received 100/);
});

test("patience extends a pause without moving its halfway point", () => {
  let patience = 3;
  const said = (frames: string) => {
    const endpointer = new Endpointer({}, false, () => patience);
    return [...frames].flatMap((letter, frame) =>
      endpointer.push(PROBABILITY[letter]!).map((event) => `${frame} ${say(event)}`),
    );
  };
  const pause = `####${".".repeat(20)}`;
  assert.deepEqual(said(pause), ["1 started #0 0", "6 halfway #0 0-4", "18 ended #0 0-4 pause"]);
  patience = 2;
  assert.deepEqual(said(pause), ["1 started #0 0", "6 halfway #0 0-4", "13 ended #0 0-4 pause"]);
  patience = 1;
  assert.deepEqual(said(pause), eventsOf(pause));
  patience = 3;
  assert.deepEqual(said("####.........##"), ["1 started #0 0", "6 halfway #0 0-4", "13 resumed #0 0"]);
});

test("the allowed pause grows as the end of a sentence becomes less likely, up to three thresholds", () => {
  assert.deepEqual([1, 0.4, 0.05].map(patienceAfter), [1, 1, 1]);
  assert.deepEqual([0.04, 0.02].map(patienceAfter), [2, 2]);
  assert.deepEqual([0.01, 0].map(patienceAfter), [3, 3]);
});
