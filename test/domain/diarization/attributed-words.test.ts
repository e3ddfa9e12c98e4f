import assert from "node:assert/strict";
import { test } from "node:test";
import type { TranscribedSegment } from "../../../core/domain/decoding/transcript.js";
import { attributeWords } from "../../../core/domain/diarization/attributed-words.js";

function segment(...words: readonly (readonly [string, number, number])[]): TranscribedSegment {
  const timed = words.map(([word, start, end]) => ({ word, start, end, confidence: 0.5 }));
  return {
    text: words.map(([word]) => word).join(" "),
    startSeconds: timed[0]?.start ?? 0,
    endSeconds: timed.at(-1)?.end ?? 0,
    words: timed,
  };
}

const turn = (start: number, end: number, speaker: number) => ({ start, end, speaker });

test("a segment is split where the speaker changes, with the times of its words", () => {
  const said = segment(["a", 0, 1], ["b", 1, 2], ["c", 2, 3]);
  const { segments, speakerCount } = attributeWords([said], [turn(0, 2, 0), turn(2, 3, 1)]);
  assert.equal(speakerCount, 2);
  assert.deepEqual(
    segments.map(({ text, startSeconds, endSeconds, speaker }) => [text, startSeconds, endSeconds, speaker]),
    [
      ["a b", 0, 2, 0],
      ["c", 2, 3, 1],
    ],
  );
  assert.deepEqual(segments[1]!.words, [{ word: "c", start: 2, end: 3, confidence: 0.5, speaker: 1 }]);
});

test("speakers are numbered by their first word", () => {
  const said = [segment(["a", 5, 6]), segment(["b", 7, 8])];
  const { segments } = attributeWords(said, [turn(0, 1, 3), turn(5, 6, 9), turn(7, 8, 3)]);
  assert.deepEqual(
    segments.map(({ speaker }) => speaker),
    [0, 1],
  );
});

test("a word belongs to the speaker who covers most of it", () => {
  const said = segment(["a", 0, 1], ["b", 1, 2]);
  const { segments } = attributeWords([said], [turn(0, 1.4, 0), turn(1, 1.3, 1), turn(1.35, 2, 1)]);
  assert.deepEqual(
    segments.map(({ text, speaker }) => [text, speaker]),
    [
      ["a", 0],
      ["b", 1],
    ],
  );
});

test("a word outside all turns belongs to the nearest one", () => {
  const said = segment(["a", 0, 1], ["b", 2.2, 2.4], ["c", 3.4, 3.6], ["d", 9, 9.5]);
  const { segments } = attributeWords([said], [turn(0, 2, 0), turn(4, 5, 1)]);
  assert.deepEqual(
    segments.map(({ text, speaker }) => [text, speaker]),
    [
      ["a b", 0],
      ["c d", 1],
    ],
  );
});

test("without turns all words are of one speaker, and without words there are none", () => {
  const { segments, speakerCount } = attributeWords([segment(["a", 0, 1])], []);
  assert.deepEqual([segments[0]!.speaker, speakerCount], [0, 1]);
  assert.equal(attributeWords([], [turn(0, 1, 0)]).speakerCount, 0);
});

test("a text without words gets the speaker of its time", () => {
  const said = { text: "м", startSeconds: 3, endSeconds: 4, words: [] };
  const { segments } = attributeWords([segment(["a", 0, 1]), said], [turn(0, 1, 0), turn(3, 4, 1)]);
  assert.equal(segments[1]!.speaker, 1);
});
