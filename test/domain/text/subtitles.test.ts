import assert from "node:assert/strict";
import { test } from "node:test";
import { formatSrt, formatVtt } from "../../../core/domain/text/subtitles.js";

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
