import assert from "node:assert/strict";
import { test } from "node:test";
import { countMarks, joinLines } from "../../bench/evaluate/marks.js";
import { runProgram } from "../support/run-program.js";

const LINES = [
  "kk/news\tбүгін||C күн|,|l жылы|.|l",
  "kk/wiki\tбасқа|.|C",
  "kk/news\tкел|?|C",
  "kk/news\tалматы||C асем||C",
  "kk/news\tқалды|.|C",
];

test("joins lines of one source in threes and omits the rest", () => {
  const [text, ...others] = joinLines(LINES, (source) => source.startsWith("kk/"));
  assert.deepEqual(others, []);
  assert.equal(text!.words.map(({ word }) => word).join(" "), "бүгін күн жылы кел алматы асем");
  assert.deepEqual([...text!.starts], [0, 3, 4]);
});

test("counts marks and capitals, except the end of a line that has no end mark", () => {
  const [text] = joinLines(LINES, () => true);
  const counts = countMarks(text!, {
    marks: [",", "", ".", ".", "", "."],
    cases: ["capital", "lower", "capital", "lower", "upper", "lower"],
  });
  assert.deepEqual(counts, {
    comma: [0, 1, 1],
    stop: [1, 1, 0],
    question: [0, 0, 1],
    capitals: [2, 1, 2],
    inside: [0, 1, 1],
  });
});

test("scores the shipped model on the recipe's test split", async () => {
  const args = ["marks", "--sets", "edited", "--limit", "40"];
  const { code, stdout, stderr } = await runProgram("dist/bench/evaluate/main.js", args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\| Kazakh, edited .* \| [4-9]\d\.\d \(\d+–\d+\) \| [6-9]\d\.\d \(/);
  assert.match(stdout, /\| ru-edited, capitals \| 87\.0 \| \d\d\.\d \| (met|missed) \|/);
  assert.match(stdout, /The test split has \d+ of \d+ lines, 2\.\d\d % \(at least 2 %: met\)\./);
  assert.doesNotMatch(stdout, /saved/);
});
