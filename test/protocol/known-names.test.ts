import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nearestName } from "../../core/domain/text/nearest-name.js";
import { shownName, unknownNameRule } from "../../core/protocol/fields.js";

const SYNTHESIS = [
  "text",
  "model",
  "voice",
  "speed",
  "nfe",
  "normalize",
  "seed",
  "pronunciations",
  "room_tone",
];
const LIVE = ["eou_ms", "endpointing", "partials", "words", "hotwords", "encoding", "token"];
const SPEECH = ["input", "model", "voice", "response_format", "speed", "seed", "pronunciations"];

describe("the nearest known name", () => {
  for (const [name, known, nearest] of [
    ["hotword", LIVE, "hotwords"],
    ["Hot-Words", LIVE, "hotwords"],
    ["partial", LIVE, "partials"],
    ["eouMs", LIVE, "eou_ms"],
    ["Speed", SYNTHESIS, "speed"],
    ["sped", SYNTHESIS, "speed"],
    ["voices", SYNTHESIS, "voice"],
    ["vocie", SYNTHESIS, "voice"],
    ["normalise", SYNTHESIS, "normalize"],
    ["pronunciation", SYNTHESIS, "pronunciations"],
    ["pronounciations", SYNTHESIS, "pronunciations"],
    ["format", SPEECH, "response_format"],
    ["responseFormat", SPEECH, "response_format"],
    ["norm", SYNTHESIS, "normalize"],
    ["format", SYNTHESIS, null],
    ["instructions", SPEECH, null],
    ["stream_format", SPEECH, null],
    ["user", SPEECH, null],
    ["n", SYNTHESIS, null],
    ["", SYNTHESIS, null],
    ["x".repeat(100_000), SYNTHESIS, null],
  ] as const) {
    test(`of ${name.slice(0, 20)} is ${nearest}`, () => assert.equal(nearestName(name, known), nearest));
  }
});

test("the message lists all names if none is near", () => {
  const rule = unknownNameRule("field", "format", SYNTHESIS);
  assert.equal(
    rule,
    'unknown field "format": known are text, model, voice, speed, nfe, normalize, seed, pronunciations, room_tone',
  );
  assert.equal(unknownNameRule("parameter", "x", []), 'unknown parameter "x": there are none here');
});

test("a message quotes neither a key nor a long text", () => {
  assert.equal(shownName("sk-svc-0123456789abcdef"), '"sk-svc-..."');
  assert.equal(shownName("ы".repeat(1_000)).length, 42);
});

test("a part of a name is found between any separators", () => {
  for (const known of ["hot-words-file", "hot_words_file"])
    assert.equal(nearestName("words", [known]), known);
});
