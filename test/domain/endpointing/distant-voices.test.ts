import assert from "node:assert/strict";
import { test } from "node:test";
import {
  Endpointer,
  type EndpointerOptions,
  type HeardFrame,
} from "../../../core/domain/endpointing/endpointer.js";
import { DISTANT_DOUBT } from "../../../core/domain/endpointing/speaker-level.js";
import { say } from "./endpoint-events.js";

/**
 * `#` a near voice with letters, `-` without; `b` a voice 20 dB below it with letters, `d` one 10 dB below that is less surely
 * near, `q` the near voice 10 dB quieter; `.` silence.
 */
const HEARD: Readonly<Record<string, { readonly probability: number } & HeardFrame>> = {
  "#": { probability: 0.95, levelDb: -30, hasLetter: true },
  "-": { probability: 0.95, levelDb: -30, hasLetter: false },
  b: { probability: 0.95, levelDb: -50, hasLetter: true },
  d: { probability: 0.7, levelDb: -40, hasLetter: true },
  q: { probability: 0.95, levelDb: -40, hasLetter: true },
  ".": { probability: 0.05, levelDb: -80, hasLetter: false },
};

function endsOf(frames: string, options: Partial<EndpointerOptions> = {}): string[] {
  const endpointer = new Endpointer(options);
  return [...frames].flatMap((letter, frame) => {
    const { probability, ...heard } = HEARD[letter]!;
    const ended = endpointer.push(probability, heard).filter(({ type }) => type === "ended");
    return ended.map((event) => `${frame} ${say(event)}`);
  });
}

test("a voice much quieter than the speaker neither extends the utterance nor starts one", () => {
  const [end, ...others] = endsOf(`${"#".repeat(20)}${"b".repeat(100)}`);
  // Its loudest frames count for a quarter of a second before the pause begins.
  assert.equal(end, "29 ended #0 0-25 pause");
  assert.deepEqual(others, []);
});

test("a voice 10 dB below the speaker that never comes near ends the utterance soon after the speaker", () => {
  const heard = `${"#".repeat(20)}${"d".repeat(60)}`;
  assert.deepEqual(endsOf(heard), []);
  const [end] = endsOf(heard, { doubtLimit: DISTANT_DOUBT });
  assert.equal(end, "28 ended #0 0-25 distant");
  // Not before the pause that the client requested.
  const [later] = endsOf(heard, { doubtLimit: DISTANT_DOUBT, pauseFrames: 20 });
  assert.equal(later, "39 ended #0 0-25 distant");
});

test("a voice that continues after a distant end is the next utterance", () => {
  const heard = `${"#".repeat(20)}${"d".repeat(60)}......`;
  const ends = endsOf(heard, { doubtLimit: DISTANT_DOUBT });
  assert.deepEqual(ends.slice(1), ["84 ended #1 25-80 pause"]);
});

test("a speaker who comes near occasionally, or is clearly near, is not taken for a distant voice", () => {
  const options = { doubtLimit: DISTANT_DOUBT };
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"dd##".repeat(20)}`, options), []);
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"q".repeat(100)}`, options), []);
});

test("voices far quieter than the speaker are not part of the utterance if they come first", () => {
  assert.deepEqual(endsOf(`${"b".repeat(30)}${"#".repeat(20)}.....`), ["54 ended #0 22-50 pause"]);
  // The speaker's own quiet beginning is included.
  assert.deepEqual(endsOf(`${"d".repeat(30)}${"#".repeat(20)}.....`), ["54 ended #0 0-50 pause"]);
});

test("the mean probability of speech excludes voices before the speaker", () => {
  const endpointer = new Endpointer();
  const frames = [
    ...Array<HeardFrame & { probability: number }>(30).fill({ ...HEARD["b"]!, probability: 0.6 }),
    ...Array<HeardFrame & { probability: number }>(20).fill(HEARD["#"]!),
    ...Array<HeardFrame & { probability: number }>(5).fill(HEARD["."]!),
  ];
  const means = frames.flatMap(({ probability, ...heard }) =>
    endpointer.push(probability, heard).flatMap((event) => ("speechMean" in event ? [event.speechMean] : [])),
  );
  assert.deepEqual(
    means.map((mean) => mean.toFixed(2)),
    ["0.95", "0.95"],
  );
});

test("a bang does not hide the voice that follows it", () => {
  const endpointer = new Endpointer();
  const levels = [...Array<number>(10).fill(-50), -10, ...Array<number>(20).fill(-50)];
  const events = levels.flatMap((levelDb) => endpointer.push(0.95, { levelDb, hasLetter: true }));
  assert.deepEqual(events.concat(endpointer.finalizeNow()).map(say), [
    "started #0 0",
    "ended #0 0-31 finalize",
  ]);
});

test("a lone voice is transcribed, however quiet", () => {
  assert.deepEqual(endsOf(`${"b".repeat(20)}.....`), ["24 ended #0 0-20 pause"]);
});

test("a quieter voice can start an utterance some time after the speaker", () => {
  const waited = `${"#".repeat(20)}${".".repeat(400)}`;
  assert.equal(endsOf(`${waited}${"b".repeat(20)}......`).length, 2);
  assert.equal(endsOf(`${"#".repeat(20)}${".".repeat(200)}${"b".repeat(20)}......`).length, 1);
});

test("a speaker who gradually becomes quieter stays in the utterance", () => {
  const endpointer = new Endpointer();
  const events = Array.from({ length: 300 }, (_, frame) =>
    endpointer.push(0.95, { levelDb: -30 - frame / 10, hasLetter: true }),
  ).flat();
  assert.deepEqual(events.map(say), ["started #0 0"]);
});

test("voice activity without letters ends the utterance where its letters ended", () => {
  const options = { wordlessFrames: 30 };
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"-".repeat(60)}`, options), [
    "49 ended #0 0-20 wordless",
    "49 ended #1 20-50 wordless",
    "79 ended #2 50-80 wordless",
  ]);
  // Silence ends it as usual.
  assert.deepEqual(endsOf(`${"#".repeat(20)}${"-".repeat(5)}.....`, options), ["29 ended #0 0-25 pause"]);
});

test("an utterance without letters does not set the speaker's level", () => {
  const endpointer = new Endpointer({ wordlessFrames: 30 });
  for (let frame = 0; frame < 29; frame++) endpointer.push(0.9, { levelDb: -20, hasLetter: false });
  const [ended] = endpointer.push(0.9, { levelDb: -20, hasLetter: false });
  assert.deepEqual(ended?.type === "ended" && [ended.hasLetters, ended.speaker], [false, null]);
});
