import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LONGEST_SPEECH_SECONDS,
  LONGEST_SPOKEN_CHARACTERS,
} from "../../core/domain/synthesis/longest-speech.js";
import { LONGEST_PAUSE_MS, LONGEST_PAUSES_MS } from "../../core/domain/text/pause-marks.js";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { DEFAULT_TARIFFS, FREE_GRANT_CREDITS } from "../../core/domain/usage/tariff.js";
import { DEFAULT_FRONT_LIMITS } from "../../core/ports/front.js";
import { LONGEST_TEXT } from "../../core/protocol/synthesis-request.js";
import { FLOOD_DETAIL } from "../../src/front/shared/live-messages.js";
import { JSON_PACE, LONGEST_JSON_BYTES, UPLOAD_PACE } from "../../src/http/read-body.js";
import { LONGEST_FETCH_BYTES, LONGEST_UPLOAD_BYTES } from "../../src/http/spool.js";
import { read, section, tableRows } from "./markdown.js";

const ERRORS = read("docs/api-errors.md");
const LIVE = read("docs/live-protocol.md");

/** Formats a number as the documents do. */
const written = (value: number) => value.toLocaleString("en-US");

/** Returns the value next to a limit in a table. @throws if the table does not list the limit */
function limit(page: string, name: string): string {
  const row = tableRows(section(page, "## Limits")).find(([cell]) => cell === name);
  if (row === undefined) throw new Error(`no limit is called "${name}"`);
  return row[1]!;
}

test("documented request limits match the code", () => {
  const { paid, free } = CONCURRENCY_LIMITS;
  const { readerPace, stallMs } = DEFAULT_FRONT_LIMITS;
  const seconds = (ms: number) => `${ms / 1_000} s`;
  const limits: readonly (readonly [name: string, value: string])[] = [
    ["JSON body", `${LONGEST_JSON_BYTES / 1_024} KiB`],
    ["audio body", `${written(LONGEST_UPLOAD_BYTES)} bytes`],
    ["audio from `url=`", `${LONGEST_FETCH_BYTES / 2 ** 30} GiB`],
    ["text", `${written(LONGEST_TEXT)} code points`],
    [
      "text after numbers and abbreviations are spelled out",
      `${written(LONGEST_SPOKEN_CHARACTERS)} characters, ${written(LONGEST_SPEECH_SECONDS)} s`,
    ],
    [
      "concurrent work of one organization",
      `${paid.synthesis} syntheses, ${paid.files} files, ${paid.live} live sessions; on the free grant ` +
        `${free.synthesis}, ${free.files} and ${free.live} ([settings](settings.md))`,
    ],
    [
      "request body, minimum pace",
      `after ${seconds(UPLOAD_PACE.graceMs)} (JSON: ${seconds(JSON_PACE.graceMs)}) ${UPLOAD_PACE.leastBytesPerS} ` +
        `bytes a second on average; no gap of ${seconds(UPLOAD_PACE.stallMs)} (JSON: ${seconds(JSON_PACE.stallMs)}) ` +
        "without a byte",
    ],
    ["duration of an upload, of a JSON body", `${UPLOAD_PACE.longestMs / 3_600_000} hours, one minute`],
    [
      "response, minimum pace of the reader",
      `${written(readerPace.leastBytesPerS)} bytes a second once the service has waited ten minutes for the reader; ` +
        `no gap of ${seconds(stallMs)} without a byte`,
    ],
  ];
  for (const [name, value] of limits) assert.equal(limit(ERRORS, name), value, name);
  assert.equal(JSON_PACE.longestMs, 60_000, "one minute");
  assert.equal(readerPace.graceMs, 600_000, "ten minutes");
});

test("documented limits of live messages match those reported to a flooding client", () => {
  const [, text, textRate, audio, bytes, audioRate] =
    /most (\d+) text messages at once and (\d+) a second, and (\d+) audio messages of less than (\d+) bytes at once and (\d+)/
      .exec(FLOOD_DETAIL)!
      .map(Number);
  assert.equal(limit(LIVE, "text messages, empty ones too"), `${text} at once, ${textRate} a second`);
  const shown = limit(LIVE, `binary messages under ${bytes} bytes (5 ms)`);
  assert.ok(shown.startsWith(`${written(audio!)} at once, ${written(audioRate!)} a second`), shown);
});

test("documented prices and the free grant match the code", () => {
  const prices = section(read("docs/api-account.md"), "## Prices");
  const { synthesis, file, live } = DEFAULT_TARIFFS;
  for (const phrase of [
    `Every organization starts with ${written(FREE_GRANT_CREDITS)}.`,
    `${synthesis.credits} credits per ${synthesis.perUnits} characters`,
    `${file.credits / file.perUnits} credits per second`,
    `${live.credits / live.perUnits} credits per second`,
  ]) {
    assert.ok(prices.includes(phrase), phrase);
  }
});

test("documented limits of pauses match the code", () => {
  const pauses = section(read("docs/written-text.md"), "## Pauses").replaceAll("\n", " ");
  assert.ok(
    pauses.includes(
      `at most ${LONGEST_PAUSE_MS / 1_000} s, and all pauses of a text together at most ${LONGEST_PAUSES_MS / 1_000} s`,
    ),
  );
});
