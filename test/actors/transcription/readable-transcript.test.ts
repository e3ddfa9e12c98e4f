import assert from "node:assert/strict";
import { test } from "node:test";
import { readableTranscript } from "../../../actors/transcription/readable-transcript.js";
import type { FileTranscript } from "../../../core/domain/decoding/transcript.js";
import { type ReadingOptions, readWords } from "../../../core/domain/text/display/reading.js";
import { toTranscription } from "../../../core/protocol/transcription-response.js";

const READER = { read: async (task: Parameters<typeof readWords>[0]) => readWords(task, null) };
const OPTIONS: ReadingOptions = { display: true, numerals: "auto", redact: [] };

/** A transcript with one word per second; a bar separates segments. */
function transcript(text: string): FileTranscript {
  let second = 0;
  const segments = text.split(" | ").map((part) => {
    const words = part.split(" ").map((word) => ({ word, start: second, end: ++second - 0.5 }));
    return { text: part, words, startSeconds: words[0]!.start, endSeconds: words.at(-1)!.end };
  });
  return { segments, sampleCountIn: 16_000 * second, sampleRateInHz: 16_000, modelId: "m" };
}

async function answer(text: string, options: Partial<ReadingOptions> = {}) {
  const readable = await readableTranscript(transcript(text), { ...OPTIONS, ...options }, READER);
  return toTranscription({ ...readable, processingSeconds: 1, creditsCharged: 1 }, true);
}

test("a displayed word refers to the spoken words that it represents", async () => {
  const { text, display_text, display_words = [], words = [] } = await answer("ол жүз жиырма адам | келді");
  assert.deepEqual([text, display_text], ["ол жүз жиырма адам келді", "Ол 120 адам келді."]);
  assert.deepEqual(display_words[1], { word: "120", start: 1, end: 2.5, spoken: [1, 3] });
  const said = display_words.map(({ spoken: [first, end] }) =>
    words
      .slice(first, end)
      .map(({ word }) => word)
      .join(" "),
  );
  assert.deepEqual(said, ["ол", "жүз жиырма", "адам", "келді"]);
});

test("a number that continues after a pause belongs to the segment in which it starts", async () => {
  const { segments = [] } = await answer("бұл жүз | жиырма адам");
  assert.deepEqual(
    segments.map(({ display_text }) => display_text),
    ["Бұл 120", "адам."],
  );
});

const PHONE = "сегіз жеті жүз бір екі жүз | жиырма екі қырық бес алпыс жеті";

test("masked data is removed from texts, words and displayed words of every affected segment", async () => {
  const {
    text,
    words = [],
    segments = [],
    display_text,
    display_words = [],
    redactions,
  } = await answer(`телефоным ${PHONE} рахмет`, { redact: ["phone"] });
  assert.equal(text, "телефоным [PHONE] [PHONE] рахмет");
  assert.deepEqual(
    words.map(({ word }) => word),
    ["телефоным", "[PHONE]", "[PHONE]", "рахмет"],
  );
  assert.deepEqual(
    segments.map((segment) => segment.text),
    ["телефоным [PHONE]", "[PHONE] рахмет"],
  );
  assert.equal(display_text, "Телефоным [PHONE] рахмет.");
  assert.deepEqual(
    display_words.map(({ spoken }) => spoken),
    [
      [0, 1],
      [1, 3],
      [3, 4],
    ],
  );
  assert.deepEqual(redactions, [{ kind: "phone", start: 1, end: 12.5 }]);
});

test("masking alone adds no readable text", async () => {
  const {
    text,
    display_text,
    display_words,
    segments = [],
  } = await answer(PHONE, {
    display: false,
    redact: ["phone", "iin"],
  });
  assert.deepEqual(
    [text, display_text, display_words, segments[0]!.display_text],
    ["[PHONE] [PHONE]", undefined, undefined, undefined],
  );
});

test("a recording without speech has an empty readable text", async () => {
  const empty = { ...transcript("а"), segments: [] };
  const readable = await readableTranscript(empty, { ...OPTIONS, redact: ["card"] }, READER);
  const { display_text, redactions } = toTranscription(
    { ...readable, processingSeconds: 1, creditsCharged: 1 },
    false,
  );
  assert.deepEqual([display_text, redactions], ["", []]);
});
