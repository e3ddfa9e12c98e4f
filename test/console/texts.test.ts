import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorCode } from "../../core/domain/errors.js";
import { errorName } from "../../core/domain/errors.js";
import { HTTP_STATUS, isRetryable } from "../../core/protocol/error-status.js";
import { en, type TextName } from "../../src/console/pages/text/en.js";
import { kk } from "../../src/console/pages/text/kk.js";
import { ru } from "../../src/console/pages/text/ru.js";
import { CONSOLE_ERRORS } from "../../src/console/server/console-error.js";

test("every text is translated with the same placeholders", () => {
  const names = Object.keys(en) as TextName[];
  // The sample text is Kazakh in every language.
  const shared = new Set<TextName>(["sampleText"]);
  for (const [language, texts] of Object.entries({ kk, ru })) {
    for (const name of names) {
      assert.deepEqual(placeholdersOf(texts[name]), placeholdersOf(en[name]), `${language} ${name}`);
      if (!shared.has(name)) assert.notEqual(texts[name], en[name], `${language} ${name}`);
    }
  }
});

test("no text names a colour, since themes differ", () => {
  const colours = /\b(black|white|gr[ae]y)\b|чёрн|белы|серы[ейх]|қарасы|сұры/i;
  for (const texts of [en, kk, ru])
    for (const [name, text] of Object.entries(texts)) assert.doesNotMatch(text, colours, name);
});

test("every error code of the console has a text", () => {
  for (const code of Object.keys(CONSOLE_ERRORS)) assert.ok(`e_${code}` in en, code);
});

test("every error of the playground's requests and live sessions has a text", () => {
  const { KEY_INVALID, STORAGE_FULL, BODY_TOO_SLOW, UNKNOWN_PARAMETER, ...others } = HTTP_STATUS;
  const named = { KEY_INVALID, STORAGE_FULL, BODY_TOO_SLOW, UNKNOWN_PARAMETER };
  const retried = Object.keys(others).filter((code) => isRetryable(code as ErrorCode));
  // Pages send no Idempotency-Key.
  const codes = [...Object.keys(named), ...retried].filter((code) => code !== "IDEMPOTENCY_KEY_IN_USE");
  for (const code of codes) assert.ok(`e_${errorName(code as ErrorCode)}` in en, code);
  for (const code of ["too_many_messages", "too_fast", "unauthorized"]) assert.ok(`e_${code}` in en, code);
});

function placeholdersOf(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ""))].sort();
}
