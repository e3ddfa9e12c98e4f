import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { REDACTED_KINDS, redact } from "../../../../core/domain/text/redaction/redact.js";

/** A name, the Russian name of @ ("dog"), and a word that resembles a domain. */
const KNOWN = ["яценюк собака украины точка нет"];

test("finds only the listed matches in the text corpora", () => {
  const found: string[] = [];
  for (const line of ["kk.txt.br", "ru.txt.br"].flatMap(corpusLines)) {
    if (/[\dA-Za-z@]/.test(line)) continue;
    const words = line.toLowerCase().match(/[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu) ?? [];
    for (const { first, end } of redact(words, REDACTED_KINDS)) found.push(words.slice(first, end).join(" "));
  }
  assert.deepEqual(found, KNOWN);
});
