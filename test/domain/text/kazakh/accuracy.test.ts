import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { type GrammaticalCase, inCase } from "../../../../core/domain/text/kazakh/suffixes.js";
import { facts, tableRows } from "./fixtures.js";

const spoken = (text: string) => normalizeKazakh(text, { expand: true }).spoken;

/**
 * Keeps only words: speakers may omit the leading "бір" of 1xx and 1xxx, and twin sentences differ in their
 * commas.
 */
function words(text: string): string {
  const bare = spoken(text)
    .replace(/[—\-,.:;!?]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return bare.replace(/(^| )бір (?=мың|жүз|миллион)/g, "$1");
}

/**
 * Returns the share of texts that are read as one of their accepted forms, and the first ones that are not.
 */
function passRate(rows: readonly { written: string; accepted: readonly string[] }[]): {
  rate: number;
  misses: string[];
} {
  const misses = rows.filter(
    ({ written, accepted }) => !accepted.some((form) => words(form) === words(written)),
  );
  return {
    rate: (rows.length - misses.length) / rows.length,
    misses: misses
      .slice(0, 5)
      .map(({ written, accepted }) => `${written}: ${spoken(written)} (${accepted.join(" | ")})`),
  };
}

const PAIR_KINDS: readonly (readonly [name: string, pattern: RegExp, least: number])[] = [
  ["ordinal endings", /\d-?(?:[ыі]н|сын|н)?ш[ыі]/, 0.98],
  ["case and other endings", /\d-/, 0.97],
  ["plain numbers", /\d/, 0.98],
];

test("single numbers in news sentences are read as they were spoken", (context) => {
  const pairs = tableRows("pairs-kk.tsv.br").map(([written, form]) => ({
    written: written!,
    accepted: [form!],
  }));
  for (const [name, , least] of PAIR_KINDS) {
    const rows = pairs.filter(
      ({ written }) => PAIR_KINDS.find(([, pattern]) => pattern.test(written))![0] === name,
    );
    const { rate, misses } = passRate(rows);
    context.diagnostic(`${name}: ${(rate * 100).toFixed(1)} % of ${rows.length}`);
    assert.ok(rate >= least, `${name}: ${rate}\n${misses.join("\n")}`);
  }
});

const FACT_KINDS: readonly (readonly [category: string, written: (key: string) => string])[] = [
  ["cardinal", (key) => key],
  ["ordinal", (key) => `${key}-ші`],
  ["decimal", (key) => key],
  ["fraction", (key) => key.split(" / ").at(-1)!],
  ["currency_example", (key) => key],
  ["date_example", (key) => key],
  ["time_example", (key) => key],
  ["collective", (key) => `${key}-еу`],
  ["approximate", (key) => `${key}-${key === "100" ? "деген" : "даған"}`],
];

test("every numeral, date, time and sum of the facts is read as listed", () => {
  for (const [category, write] of FACT_KINDS) {
    const { misses } = passRate(
      facts(category).map(({ key, accepted }) => ({ written: write(key), accepted })),
    );
    assert.deepEqual(misses, [], category);
  }
});

test("every unit of the facts is read after a number", () => {
  // Other rules read units of time that are whole words or year marks.
  const rows = facts("unit").filter(({ key }) => !["ж.", "ғ.", "ап."].includes(key));
  const { misses } = passRate(
    rows.map(({ key, accepted }) => ({
      written: `3 ${key}`,
      accepted: accepted.map((form) =>
        form.replace(/^(сағатына|секундына)? ?/, (_, rate) => (rate ? `${rate} үш ` : "үш ")),
      ),
    })),
  );
  assert.deepEqual(misses, []);
});

test("every acronym of the facts is read", () => {
  const rows = facts("abbreviation").filter(({ key }) => /^[А-ЯӘҒҚҢӨҰҮҺІ]{2,}$/.test(key));
  assert.ok(rows.length > 20);
  assert.deepEqual(passRate(rows.map(({ key, accepted }) => ({ written: key, accepted }))).misses, []);
});

const CASES: readonly GrammaticalCase[] = [
  "genitive",
  "dative",
  "accusative",
  "locative",
  "ablative",
  "instrumental",
];

test("every case of numerals, months, money and units is formed", () => {
  let count = 0;
  for (const category of ["numeral_case", "currency_case", "month_case", "unit_case"]) {
    for (const { key, spoken: expected } of facts(category)) {
      const [word, label] = key.split(" | ");
      const grammaticalCase = CASES.find((name) => label!.startsWith(name))!;
      assert.equal(inCase(word!, grammaticalCase), expected, key);
      count++;
    }
  }
  assert.equal(count, 282);
});
