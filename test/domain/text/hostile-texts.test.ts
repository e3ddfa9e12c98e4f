import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { brokenPauseRule } from "../../../core/domain/text/pause-marks.js";
import { spokenSentences } from "../../../core/domain/text/spoken-sentences.js";

const SHORT = 250;
const MIDDLE = 500;
const LONG = 1_000;
/**
 * Limit of attempts and matched characters per character of a text; a rule that rescans the text needs
 * hundreds. Work that grows with the text's length and dominates the longest text also shows at the middle
 * length, so only texts that exceed the limit there are tried at full length. Some rules look back a few
 * hundred characters.
 */
const MOST_GROWTH = 1.6;
const FEW = 60;
const MOST_GROWTH_TO_MIDDLE = 1.2;
const FEW_OF_MIDDLE = 30;
/** Texts at which rules start, and texts that they look for next. */
const PARTS = [
  ...'aA10 .,-@:/\n\tІXәӘштжыА—^°½%№[("…?$₸#*+_\u0301⁰',
  ..."8 7|+7 |1. |1, |1.000|12:|12.05.|1/2|1-|[pause |a@|a.|www.|https://|ж.|т.б|б.з.|лар|ого |есеп|км/|млн |а б|ФЫВ|тел. |к-сі |а/о |«а» ".split(
    "|",
  ),
];

let work = 0;
const { exec } = RegExp.prototype;

before(() => {
  // Every pattern search goes through here, which counts searches and matched characters.
  RegExp.prototype.exec = function counted(this: RegExp, text: string) {
    const match = exec.call(this, text);
    work += 1 + (match?.[0].length ?? 0);
    return match;
  };
});

after(() => {
  RegExp.prototype.exec = exec;
});

function workOfCharacter(part: string, length: number, reader: "kazakh" | "russian" = "kazakh"): number {
  const text = part.repeat(Math.ceil(length / part.length)).slice(0, length);
  work = 0;
  if (brokenPauseRule(text) === null) {
    spokenSentences(text, { expand: true, reader });
    spokenSentences(text, { expand: false, reader });
  }
  return work / length;
}

test("a repeated head of a contraction is read like any word", () => {
  const word = workOfCharacter("бір-", LONG);
  for (const head of ["ун-", "ин-", "бас-", "мам-"]) {
    const found = workOfCharacter(head, LONG);
    assert.ok(found <= 2 * word + 1, `${head} ${found} to ${word}`);
  }
});

/** Texts at which Russian rules start, and texts that they look for next. */
const RUSSIAN_PARTS = [
  ..."1 10 .,-:/XаИ№$%½+(\n",
  ..."1 000|12.05.|12:|5-й |5 и |5-6|-е |марта |год |г. |гг.|в |на |км/|тыс. |5-лет|XX–|вв.|Пётр |ул. |т.е|+7 |1/2|руб. |ых ".split(
    "|",
  ),
];

// 5,000 characters must not block the main thread for minutes.
for (const [reader, parts] of [
  ["kazakh", PARTS],
  ["russian", RUSSIAN_PARTS],
] as const) {
  for (const [index, first] of parts.entries()) {
    test(`${reader} texts of ${JSON.stringify(first)} and something else take time proportional to their length`, () => {
      // A repeated pair equals the repeated reversed pair except at both ends, so one order is enough.
      for (const second of ["", ...parts.slice(index + 1)]) {
        const middle = workOfCharacter(first + second, MIDDLE, reader);
        if (middle <= FEW_OF_MIDDLE) continue;
        const short = workOfCharacter(first + second, SHORT, reader);
        if (middle <= MOST_GROWTH_TO_MIDDLE * short) continue;
        const long = workOfCharacter(first + second, LONG, reader);
        if (long <= FEW) continue;
        assert.ok(long <= MOST_GROWTH * short, `${JSON.stringify(first + second)}: ${short} to ${long}`);
      }
    });
  }
}
