import assert from "node:assert/strict";
import { test } from "node:test";
import { clausesOf } from "../../../native/phonemes/clauses.js";

const shown = (text: string) => clausesOf(text).map(({ text: clause, sign }) => `${clause}|${sign}`);

test("a clause ends with a sign before a space or the end", () => {
  assert.deepEqual(shown("сәлем, әлем! қалайсың? жақсы: иә; мақұл."), [
    ...["сәлем|,", "әлем|!", "қалайсың|?", "жақсы|:", "иә|;", "мақұл|."],
  ]);
  assert.deepEqual(shown("сағат 12:30 мен 3,5 пайыз"), ["сағат 12:30 мен 3,5 пайыз|"]);
});

test("a dash separates like a semicolon, except at the start; a hyphen does not", () => {
  assert.deepEqual(shown("— алматы — көк-жасыл қала."), ["алматы|;", "көк-жасыл қала|."]);
});

test('"?" and "!" take precedence among several signs, and dots inside a sentence become a comma', () => {
  assert.deepEqual(shown("не?! жоқ... иә,, солай…"), ["не|?", "жоқ|,", "иә|,", "солай|."]);
});

test("a dot before a lower-case letter marks an abbreviation if the text has capitals", () => {
  assert.deepEqual(shown("Это т.е. так. Да."), ["Это т.е. так|.", "Да|."]);
  assert.deepEqual(shown("бір. екі."), ["бір|.", "екі|."]);
});

test("espeak-ng commands, tags, quotes and control characters are removed", () => {
  assert.deepEqual(shown("[[kk]] <break time='9s'/> «бір»\u0001V \n\u0000\ue000 е\u00adкі."), [
    "kk break time='9s'/ бір V екі|.",
  ]);
  assert.deepEqual(shown("  ... — ?! \u0007 "), []);
});

test("long clauses are cut between words, overlong words anywhere, and nothing is lost", () => {
  for (const text of ["сөйлем ".repeat(400).trim(), "ә".repeat(5_000), `${"漢".repeat(900)} екі`]) {
    const clauses = clausesOf(`${text}.`);
    assert.ok(clauses.length > 1);
    for (const { text: clause } of clauses) assert.ok(Buffer.byteLength(clause) <= 610, clause);
    assert.equal(
      clauses
        .map((clause) => clause.text)
        .join("")
        .replaceAll(" ", ""),
      text.replaceAll(" ", ""),
    );
    assert.equal(clauses.map((clause) => clause.sign).join(""), ".");
  }
});
