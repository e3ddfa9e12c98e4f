import assert from "node:assert/strict";
import { test } from "node:test";
import { openApiDocument } from "../../core/protocol/openapi.js";
import { parseSpeechRequest } from "../../core/protocol/speech-request.js";
import { parseSynthesisRequest } from "../../core/protocol/synthesis-request.js";

const parse = (pronunciations: unknown, text = "Kaspi") =>
  parseSynthesisRequest({ text, pronunciations }).pronunciations;

test("entries are normalized for look-up and speech on both interfaces", () => {
  const pronunciations = [{ word: "«Kaspi  Bank»", say: "Каспи банк!" }];
  const expected = [{ word: "Kaspi Bank", spoken: "каспи банк" }];
  assert.deepEqual(parse(pronunciations), expected);
  assert.deepEqual(parseSpeechRequest({ input: "а", pronunciations }).synthesis.pronunciations, expected);
});

test("a request without a dictionary keeps its fingerprint", () => {
  const { pronunciations: none, ...rest } = parseSynthesisRequest({ text: "а" });
  assert.equal(none, undefined);
  // This is the input of the fingerprints of idempotency keys.
  assert.equal(JSON.stringify(parseSynthesisRequest({ text: "а" })), JSON.stringify(rest));
  assert.equal(parse(null), undefined);
});

const entry = (word: unknown, say: unknown) => ({ word, say });
for (const [what, pronunciations, pattern] of [
  ["an object", { Kaspi: "каспи" }, /^pronunciations must be a list of {"word", "say"}, received object$/],
  ["a string", "Kaspi=каспи", /^pronunciations must be a list .* received string$/],
  [
    "101 entries",
    Array(101).fill(entry("a", "а")),
    /^pronunciations must be at most 100 entries, received 101$/,
  ],
  ["a string as an entry", ["Kaspi"], /^pronunciations\[0\] must be {"word", "say"}, received string$/],
  ["null as an entry", [null], /^pronunciations\[0\] must be {"word", "say"}, received null$/],
  [
    "an entry without say",
    [entry("a", "а"), { word: "b" }],
    /^pronunciations\[1\]\.say must be a string, received undefined$/,
  ],
  ["a number as a word", [entry(5, "бес")], /^pronunciations\[0\]\.word must be a string, received number$/],
  ["an empty word", [entry("", "а")], /^pronunciations\[0\]\.word must be 1 to 60 characters, received 0$/],
  [
    "a say of 61 characters",
    [entry("a", "а".repeat(61))],
    /^pronunciations\[0\]\.say must be 1 to 60 characters, received 61$/,
  ],
  [
    "a word of a picture",
    [entry("😀", "а")],
    /^pronunciations\[0\]\.word must hold letters, figures or signs, received "😀"$/,
  ],
  [
    "nothing to say",
    [entry("a", "...")],
    /^pronunciations\[0\]\.say must hold something that can be spoken in Kazakh, received "\.\.\."$/,
  ],
  [
    "a word twice",
    [entry("Kaspi", "а"), entry("«KASPI»", "б")],
    /^pronunciations\[1\]\.word must not be there twice, received "«KASPI»"$/,
  ],
] as const) {
  test(`pronunciations with ${what} are rejected`, () => {
    assert.throws(() => parse(pronunciations), { code: "INVALID_REQUEST", message: pattern });
    assert.throws(() => parseSpeechRequest({ input: "а", pronunciations }), { message: pattern });
  });
}

test("a dictionary may lengthen a text only a little, because pronunciations are not billed", () => {
  const long = [entry("а", "б".repeat(60))];
  const spoken = parse(long)![0]!.spoken.length;
  const words = (count: number) => "а ".repeat(count).trim();
  const most = Math.floor(200 / (spoken - 3));
  assert.equal(parse(long, words(most))?.length, 1);
  assert.throws(
    () => parse(long, words(most + 1)),
    /pronunciations must make the text at most \d+ characters longer, received \d+/,
  );
  assert.throws(
    () => parseSpeechRequest({ input: words(most + 1), pronunciations: long }),
    /characters longer/,
  );
});

test("the description lists the field with its bounds", () => {
  const { components } = openApiDocument() as {
    components: {
      schemas: Record<string, { properties: Record<string, { type: string; maxItems: number }> }>;
    };
  };
  for (const name of ["SynthesisRequest", "SpeechRequest"]) {
    const { type, maxItems } = components.schemas[name]!.properties["pronunciations"]!;
    assert.deepEqual([type, maxItems], ["array", 100]);
  }
});
