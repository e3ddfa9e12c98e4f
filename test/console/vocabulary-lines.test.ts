import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WrittenVocabulary } from "../../core/domain/vocabulary.js";
import { parseVocabulary } from "../../core/protocol/vocabulary.js";
import {
  faultIn,
  readLists,
  rejectedFault,
  type WrittenLists,
  writeLists,
} from "../../src/console/pages/vocabulary-lines.js";
import { hearingIn } from "../support/catalog.js";
import * as fc from "../support/properties.js";

const { all: MODELS } = hearingIn("абвгдеёжзийклмнопрстуфхцчшщъыьэюяқ -");
const LIMITS = {
  hot_words: 100,
  hot_word_characters: 60,
  usual_weight: 1,
  largest_weight: 5,
  pronunciations: 100,
  pronunciation_characters: 60,
};

const hot = (hotwords: string): WrittenLists => ({ hotwords, pronunciations: "" });
const said = (pronunciations: string): WrittenLists => ({ hotwords: "", pronunciations });

function detailOf(words: WrittenVocabulary): string {
  try {
    parseVocabulary(words, MODELS);
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
  return "";
}

describe("the lists of the vocabulary page", () => {
  test("are read by line, with commas between hot words and in weights", () => {
    const read = readLists({
      hotwords: " айнұр \n\nмаңғыстау:2,5, нью  йорк\n",
      pronunciations: "\nKaspi = каспи\n",
    });
    assert.deepEqual(read, {
      words: {
        hotwords: ["айнұр", "маңғыстау:2.5", "нью йорк"],
        pronunciations: [{ word: "Kaspi", say: "каспи" }],
      },
      lines: { hotwords: [1, 3, 3], pronunciations: [2] },
      brokenLine: null,
    });
  });

  test("stay the same when they are shown and saved, whatever signs stored words have", () => {
    const text = fc
      .array(fc.constantFrom("a", "б", "=", " ", "\n", ":", "2"), { minLength: 1, maxLength: 8 })
      .map((units) => units.join(""))
      .filter((one) => one.trim() !== "");
    const stored = fc.record({
      hotwords: fc.array(text, { maxLength: 4 }),
      pronunciations: fc.array(fc.record({ word: text, say: text }), { maxLength: 4 }),
    });
    const inOneLine = (written: string) => written.trim().replace(/\s+/g, " ");
    fc.assert(
      fc.property(stored, (words) => {
        const { words: read, brokenLine } = readLists(writeLists(words));
        assert.equal(brokenLine, null);
        assert.deepEqual(read, {
          hotwords: words.hotwords.map(inOneLine),
          pronunciations: words.pronunciations.map(({ word, say }) => ({
            word: inOneLine(word),
            say: inOneLine(say).replace(/ ?= ?/g, "="),
          })),
        });
      }),
    );
  });

  test("that keep the rules have no fault", () => {
    const longest = "а".repeat(60);
    const read = readLists({
      hotwords: [...Array(98).fill("ана"), `${longest}: 5`, "ата:0.5"].join("\n"),
      pronunciations: `Kaspi = каспи\n${"a".repeat(60)} = ${longest}`,
    });
    assert.equal(faultIn(read, LIMITS), null);
    assert.equal(detailOf(read.words), "");
  });

  const long = "а".repeat(61);
  for (const [written, fault] of [
    [hot(`ана\n${long}`), { line: 2, text: "lineLength", values: { line: 2, most: 60 } }],
    [hot("\n:2"), { line: 2, text: "lineLength", values: { line: 2, most: 60 } }],
    [hot("ана:6"), { line: 1, text: "hotWordWeight", values: { line: 1, largest: 5 } }],
    [hot("ана:1:2"), { line: 1, text: "hotWordWeight", values: { line: 1, largest: 5 } }],
    [hot("ана:көп"), { line: 1, text: "hotWordWeight", values: { line: 1, largest: 5 } }],
    [hot("ана\n".repeat(101)), { line: 101, text: "tooManyLines", values: { most: 100, n: 101 } }],
    [said(`a = ${long}`), { line: 1, text: "lineLength", values: { line: 1, most: 60 } }],
    [said("a = а\n\nA = б"), { line: 3, text: "pronunciationTwice", values: { line: 3, first: 1 } }],
    [
      said(Array.from({ length: 101 }, (_, n) => `a${n} = а`).join("\n")),
      { line: 101, text: "tooManyLines", values: { most: 100, n: 101 } },
    ],
  ] as const) {
    const field = written.hotwords === "" ? "pronunciations" : "hotwords";
    test(`break a rule of the service: ${JSON.stringify(written[field].slice(-20))}`, () => {
      const read = readLists(written);
      assert.deepEqual(faultIn(read, LIMITS), { field, ...fault });
      assert.notEqual(detailOf(read.words), "", "the service rejects it too");
    });
  }

  test("name the first line that is no pronunciation", () => {
    const fault = { field: "pronunciations", line: 2, text: "pronunciationsWrong", values: { n: 2 } };
    assert.deepEqual(faultIn(readLists(said("a = а\nKaspi\n=")), LIMITS), fault);
  });

  for (const [written, fault] of [
    [hot("ана\nҚазақ Q:2"), { line: 2, text: "hotWordLetter", values: { word: "қазақ q", letter: "q" } }],
    [said("a = а\n\nKaspi = !"), { line: 3, text: "pronunciationSay", values: { line: 3 } }],
    [said("a = а\n! = а"), { line: 2, text: "pronunciationWord", values: { line: 2 } }],
    // The service compares words in the forms in which it looks them up.
    [said("Kaspi = а\nKaspi, = б"), { line: 2, text: "pronunciationWord", values: { line: 2 } }],
  ] as const) {
    const field = written.hotwords === "" ? "pronunciations" : "hotwords";
    test(`show what only the service knows: ${JSON.stringify(written[field])}`, () => {
      const read = readLists(written);
      assert.equal(faultIn(read, LIMITS), null);
      assert.deepEqual(rejectedFault(detailOf(read.words), read), { field, ...fault });
    });
  }

  test("have no place for other errors of the service", () => {
    const read = readLists(hot("ана"));
    const detail = "hotwords must be omitted: tiny does not support hot words";
    assert.equal(rejectedFault(detail, read), null);
  });
});
