import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { clock } from "../../src/console/pages/clock.js";
import { toParagraphs } from "../../src/console/pages/paragraphs.js";
import { readPronunciations } from "../../src/console/pages/pronunciations.js";
import { shownWords } from "../../src/console/pages/shown-words.js";
import { en } from "../../src/console/pages/text/en.js";
import { kk } from "../../src/console/pages/text/kk.js";
import { voiceTexts } from "../../src/console/pages/text/voices.js";

describe("paragraphs of a transcript", () => {
  const word = (start: number, end: number) => ({ word: `w${start}`, start, end });
  const startsOf = (words: ReturnType<typeof word>[], segments: number[]) => {
    const found = toParagraphs(
      words,
      segments.map((start) => ({ start })),
    );
    assert.deepEqual(
      found.flatMap(({ words: own }) => own),
      words,
      "every word is in one paragraph",
    );
    for (const { from, words: own } of found) assert.equal(words[from], own[0]);
    return found.map(({ start }) => start);
  };

  test("start after a long pause, not after a short one", () => {
    assert.deepEqual(startsOf([word(1, 2), word(2.6, 3), word(5, 6)], [0.9, 2.5, 4.9]), [1, 5]);
  });

  test("start where a segment starts, never within one", () => {
    assert.deepEqual(startsOf([word(1, 2), word(5, 6), word(7.5, 8)], [0.9, 7.4]), [1, 7.5]);
  });

  test("end with a segment once they have lasted half a minute", () => {
    const words = Array.from({ length: 50 }, (_, second) => word(second, second + 0.9));
    const segments = Array.from({ length: 10 }, (_, index) => index * 5);
    assert.deepEqual(startsOf(words, segments), [0, 30]);
  });

  test("start where the speaker changes, also within a segment and without a pause", () => {
    const said = [0, 0, 1, 0].map((speaker, at) => ({ ...word(at, at + 0.9), speaker }));
    const found = toParagraphs(said, [{ start: 0 }]);
    assert.deepEqual(
      found.map(({ start, speaker }) => [start, speaker]),
      [
        [0, 0],
        [2, 1],
        [3, 0],
      ],
    );
  });

  test("contain words outside any segment", () => {
    assert.deepEqual(startsOf([word(1, 2), word(3, 4)], []), [1]);
    assert.deepEqual(startsOf([], [0]), []);
  });
});

test("a number in digits has the times of all its spoken words, and is found by them", () => {
  const words = ["он", "бесінші", "наурыз"].map((word, at) => ({ word, start: at, end: at + 0.9 }));
  const transcript = {
    words,
    display_words: [
      { word: "15", start: 0, end: 1.9, spoken: [0, 2] as const },
      { word: "Наурыз.", start: 2, end: 2.9, spoken: [2, 3] as const },
    ],
  };
  assert.deepEqual(shownWords(transcript, "readable"), [
    { word: "15", start: 0, end: 1.9, texts: ["15", "он бесінші"] },
    { word: "Наурыз.", start: 2, end: 2.9, texts: ["наурыз.", "наурыз"] },
  ]);
  const plain = words.map((word) => ({ ...word, texts: [word.word] }));
  assert.deepEqual(shownWords(transcript, "spoken"), plain);
  assert.deepEqual(shownWords({ words }, "readable"), plain, "a service without readable text");
});

test("a displayed word keeps its speaker in both forms", () => {
  const times = { start: 0, end: 1, speaker: 1 };
  const transcript = {
    words: [{ word: "сәлем", ...times }],
    display_words: [{ word: "Сәлем.", spoken: [0, 1] as const, ...times }],
  };
  for (const form of ["readable", "spoken"] as const)
    assert.equal(shownWords(transcript, form)[0]?.speaker, 1);
});

test("a player's time has minutes and seconds, and hours if there are any", () => {
  const written = [0, 7.9, 60, 3_599, 3_723].map(clock);
  assert.deepEqual(written, ["0:00", "0:07", "1:00", "59:59", "1:02:03"]);
});

test("pronunciations are parsed by line up to the first incomplete one", () => {
  const read = readPronunciations("Kaspi = каспи\n\n GPT=джи  пи ти=бір \nE=mc2 = и тең эм цэ екі");
  const entries = [
    { word: "Kaspi", say: "каспи" },
    { word: "GPT", say: "джи пи ти=бір" },
    { word: "E=mc2", say: "и тең эм цэ екі" },
  ];
  assert.deepEqual(read, { entries, lines: [1, 3, 4], brokenLine: null });
  for (const broken of ["Kaspi", "= каспи", "Kaspi =", "="]) {
    assert.equal(readPronunciations(`a = б\n${broken}\nc`).brokenLine, 2, broken);
  }
});

test("the shipped models' notes have a text in each language", () => {
  const notesOf = (model: string) => JSON.parse(readFileSync(`models/${model}/manifest.json`, "utf8")).notes;
  assert.equal(en.noteSpeak, notesOf("svc-kk-v1"));
  assert.equal(en.noteHear, notesOf("svc-kk-ru-v2"));
});

describe("voices", () => {
  const t = (name: keyof typeof kk) => kk[name];

  test("of the shipped model have every text in each language", () => {
    const manifest = JSON.parse(readFileSync("models/svc-kk-v1/manifest.json", "utf8")) as {
      voices: { name: string; gender: string; style: string; best_for: string }[];
    };
    assert.equal(manifest.voices.length, 4);
    for (const voice of manifest.voices) {
      const told = [
        [`voice_${voice.name}`, voice.name.charAt(0).toUpperCase() + voice.name.slice(1)],
        [`style_${voice.name}`, voice.style],
        [`uses_${voice.name}`, voice.best_for],
      ] as [keyof typeof en, string][];
      for (const [name, text] of told) assert.equal(en[name], text, name);
      const { display, gender, style, uses } = voiceTexts(voice, t);
      for (const text of [display, gender, style, uses]) assert.match(text ?? "", /^[а-яёәғқңөұүһі, -]+$/i);
    }
  });

  test("of another model keep its own texts", () => {
    const voice = { name: "aigul", gender: null, style: "hoarse", best_for: null };
    assert.deepEqual(voiceTexts(voice, t), { display: "Айгүл", gender: null, style: "hoarse", uses: null });
    const other = { name: "john", gender: "other", style: null, best_for: "toasts" };
    assert.deepEqual(voiceTexts(other, t), {
      display: "John",
      gender: "other",
      style: null,
      uses: "toasts",
    });
  });
});
