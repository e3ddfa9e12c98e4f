import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LONGEST_PIECE_CHARACTERS,
  splitIntoPieces,
  splitIntoSentences,
} from "../../../core/domain/text/sentences.js";
import * as fc from "../../support/properties.js";

/** Sentences are written with | between them. The splitter must find the same places. */
function assertSplit(marked: string): void {
  assert.deepEqual(splitIntoSentences(marked.replaceAll("|", "")), marked.split("|"));
}

test("sentences end at full stops, questions and exclamations", () => {
  assertSplit("Бірінші сөйлем. |Екінші ме? |Үшінші! |Төртінші");
  assertSplit("Рас па?! |Рас.");
  assertSplit("  Басы. |Соңы.  ");
});

test("decimals, dates, times and addresses are not split", () => {
  assertSplit("Бағасы 3.5 теңге. |Күні 05.05.2024 болды. |Сайты dauys.kz емес.");
});

test("abbreviations and initials do not end a sentence", () => {
  assertSplit("А. Байтұрсынұлы мен Қ.К. Тоқаев. |Содан кейін.");
  assertSplit("Алматы қ. Абай көш. 5 үй. |Тел. Нөмірі жоқ.");
  assertSplit("Алма, өрік т.б. жемістер. |Алма, өрік т.б. |Содан кейін.");
  assertSplit("2024 ж. мамырда. |1991 ж. |Сол жылы.");
});

test("abbreviations of years, degrees and chapters do not end a sentence before a number or a name", () => {
  assertSplit("2024 ж. 12 мамырда болды. |Содан кейін.");
  assertSplit("XX ғ. V онжылдығы. |Соңы.");
  assertSplit("Т.ғ.д. Ахметов келді. |Ол отырды.");
  assertSplit("I. Кіріспе\n|II. Бөлім");
  assertSplit("Мекенжай: Абай көш. 5, кв. 3. |Келіңіз.");
  assertSplit("Сағат 9.30-да. |1 сағ. 15 мин. өтті. |Болды.");
  assertSplit("«Не істейміз?..» |Ол үнсіз.");
});

test("an ellipsis ends a sentence only before a capital", () => {
  assertSplit("Мен... білмеймін. |Ол… кетті... |Біз қалдық.");
});

test("direct speech stays in one sentence with its speaker", () => {
  assertSplit("— Қайда барасың? — деді ол. |— Үйге.");
  assertSplit("«Тоқта!» деп айқайлады. |«Барамын». |Ол кетті.");
});

test("closing quotes and brackets belong to their sentence", () => {
  assertSplit("Ол «Жоқ.» |(Содан кейін.) |Біз келдік.");
});

test("a line end ends a sentence unless the line continues", () => {
  assertSplit("Тақырып\n|Бірінші жол\nекінші жол.\n\n|Жаңа абзац");
  assertSplit("1. Алма\n|2. Өрік\n|– Шие");
});

test("spoken text without capitals is split at every full stop", () => {
  assertSplit("бірінші сөйлем. |екінші сөйлем. |он бес пайыз.");
});

test("every character is in exactly one sentence", () => {
  const anyText = fc.array(
    fc.constantFrom("Сөз", "сөз", "А", "т.б", "3", ".", "...", "!", "?", " ", "\n", "»", "—", ",", "қ", "😀"),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        anyText.map((parts) => parts.join("")),
        fc.string({ unit: "grapheme" }),
      ),
      (text) => {
        const sentences = splitIntoSentences(text);
        assert.equal(sentences.join(""), text);
        if (sentences.length > 1) for (const sentence of sentences) assert.notEqual(sentence.trim(), "");
      },
    ),
    { numRuns: 1_000 },
  );
});

test("a short sentence is one piece", () => {
  assert.deepEqual(splitIntoPieces("сәлем, әлем."), ["сәлем, әлем."]);
  assert.deepEqual(splitIntoPieces("  "), []);
});

test("a long sentence is cut at its clauses, into pieces of similar length", () => {
  const clause = "көктем келгенде далада гүлдер ашылады да құстар ән салады";
  const pieces = splitIntoPieces(`${clause}, ${clause}, ${clause}, ${clause}.`);
  assert.deepEqual(pieces, [`${clause}, ${clause},`, `${clause}, ${clause}.`]);
});

test("prefers a comma to a nearer space, and a conjunction to a bare space", () => {
  const words = (count: number) => Array.from({ length: count }, () => "құстар").join(" ");
  assert.equal(splitIntoPieces(`${words(17)}, ${words(12)}`)[0], `${words(17)},`);
  assert.equal(splitIntoPieces(`${words(16)} және ${words(12)}`)[0], words(16));
});

test("a piece is cut between words if it has no clauses, and anywhere if it has no spaces", () => {
  const words = Array.from({ length: 60 }, () => "сөзбен").join(" ");
  for (const piece of splitIntoPieces(words)) assert.match(piece, /^(?:сөзбен ?)+$/);
  assert.deepEqual(
    splitIntoPieces("а".repeat(400))
      .map((piece) => piece.length)
      .toSorted((a, b) => b - a)[0],
    180,
  );
});

test("pieces are short enough and contain everything", () => {
  const anySpoken = fc
    .array(fc.constantFrom("сөз", "құстар", ",", ".", " ", " — ", ";", "және ", "көктемгі", "а".repeat(70)), {
      maxLength: 150,
    })
    .map((parts) => parts.join(" ").replace(/ +/g, " ").trim());
  fc.assert(
    fc.property(anySpoken, fc.integer({ min: 20, max: LONGEST_PIECE_CHARACTERS }), (spoken, longest) => {
      const pieces = splitIntoPieces(spoken, longest);
      assert.equal(pieces.join("").replace(/ /g, ""), spoken.replace(/ /g, ""));
      for (const piece of pieces) {
        assert.ok(piece.length <= longest, `${piece.length} > ${longest}`);
        assert.equal(piece, piece.trim());
        assert.notEqual(piece, "");
      }
    }),
  );
});
