import assert from "node:assert/strict";
import { test } from "node:test";
import { CONSOLE_ERRORS } from "../../src/console/console-error.js";
import { en, type TextName } from "../../src/console/pages/text/en.js";
import { kk } from "../../src/console/pages/text/kk.js";
import { ru } from "../../src/console/pages/text/ru.js";

test("every language fills in the same values, and none leaves a text in English", () => {
  const names = Object.keys(en) as TextName[];
  // What a demonstration says, and names, are the same everywhere.
  const shared = new Set<TextName>(["sampleText", "clientCode"]);
  for (const [language, texts] of Object.entries({ kk, ru })) {
    for (const name of names) {
      assert.deepEqual(valuesOf(texts[name]), valuesOf(en[name]), `${language} ${name}`);
      if (!shared.has(name)) assert.notEqual(texts[name], en[name], `${language} ${name}`);
    }
  }
});

test("there is a text for everything that the console can answer with", () => {
  for (const code of Object.keys(CONSOLE_ERRORS)) assert.ok(`e_${code}` in en, code);
});

function valuesOf(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""))].sort();
}
