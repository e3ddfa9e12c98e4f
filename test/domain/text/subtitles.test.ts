import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSrt, formatVtt, toCues } from "../../../core/domain/text/subtitles.js";
import * as fc from "../../support/properties.js";

test("cues keep every word in order and follow their rules", () => {
  const word = fc.record({
    letters: fc.stringMatching(/^[а-яәі]{1,60}$/),
    gap: fc.double({ min: 0, max: 3, noNaN: true }),
    length: fc.double({ min: 0.05, max: 2, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 40 }), (spoken) => {
      let now = 0;
      const words = spoken.map(({ letters, gap, length }) => {
        const start = now + gap;
        now = start + length;
        return { word: letters, start, end: now };
      });
      const cues = toCues(words);
      const joined = cues.flatMap((cue) => cue.lines).join("");
      assert.equal(joined.replaceAll(" ", ""), words.map(({ word }) => word).join(""));
      for (const [index, cue] of cues.entries()) {
        assert.ok(cue.lines.length <= 2 && cue.lines.every((line) => [...line].length <= 42));
        assert.ok(cue.endSeconds - cue.startSeconds <= 7 + 1e-9);
        assert.ok(cue.endSeconds > cue.startSeconds);
        assert.ok(cue.endSeconds <= (cues[index + 1]?.startSeconds ?? Number.POSITIVE_INFINITY));
      }
    }),
  );
});

test("a short word stays for 0.8 s unless another follows", () => {
  const alone = toCues([{ word: "иә", start: 1, end: 1.1 }]);
  assert.deepEqual(alone, [{ startSeconds: 1, endSeconds: 1.8, lines: ["иә"] }]);
});

test("a pause ends a cue", () => {
  const cues = toCues([
    { word: "бір", start: 0, end: 0.5 },
    { word: "екі", start: 1.6, end: 2 },
  ]);
  assert.equal(cues.length, 2);
});

test("SubRip and WebVTT follow their formats exactly", () => {
  const cues = [
    { startSeconds: 0.42, endSeconds: 1.9996, lines: ["a & b", "<c> --> d"] },
    { startSeconds: 3_661.001, endSeconds: 3_662, lines: ["e"] },
  ];
  assert.equal(
    formatSrt(cues),
    "1\n00:00:00,420 --> 00:00:02,000\na & b\n<c> --> d\n\n2\n01:01:01,001 --> 01:01:02,000\ne\n\n",
  );
  assert.equal(
    formatVtt(cues),
    "WEBVTT\n\n00:00:00.420 --> 00:00:02.000\na &amp; b\n&lt;c> --&gt; d\n\n01:01:01.001 --> 01:01:02.000\ne\n\n",
  );
  assert.equal(formatSrt([]), "");
  assert.equal(formatVtt([]), "WEBVTT\n\n");
});
