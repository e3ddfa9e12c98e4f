import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalAgreement } from "../../../core/domain/decoding/local-agreement.js";
import type { TimedWord } from "../../../core/domain/decoding/words.js";
import * as fc from "../../support/properties.js";

/** Words of half a second each with a tenth between them, starting at `startSeconds`. */
function words(text: string, startSeconds = 0): TimedWord[] {
  return text
    .split(" ")
    .filter((word) => word !== "")
    .map((word, i) => ({ word, start: startSeconds + 0.6 * i, end: startSeconds + 0.6 * i + 0.5 }));
}

test("words of two hypotheses are stable, except an unfinished last one", () => {
  const agreement = new LocalAgreement();
  assert.deepEqual(agreement.hear(words("бір ек"), 1.1), { text: "бір ек", stable: 0 });
  assert.deepEqual(agreement.hear(words("бір екі"), 1.2), { text: "бір екі", stable: 3 });
  assert.deepEqual(agreement.hear(words("бір екі"), 1.3), { text: "бір екі", stable: 3 });
  assert.deepEqual(agreement.hear(words("бір екі үш"), 1.7), { text: "бір екі үш", stable: 7 });
});

test("a last word followed by silence is complete", () => {
  const agreement = new LocalAgreement();
  agreement.hear(words("бір екі"), 1.1);
  assert.equal(agreement.hear(words("бір екі"), 1.6).stable, 7);
});

test("a changed word is not stable until it is repeated", () => {
  const agreement = new LocalAgreement();
  agreement.hear(words("бар екі үш"), 1.7);
  assert.equal(agreement.hear(words("бір екі үш төрт"), 2.3).stable, 0);
  assert.deepEqual(agreement.hear(words("бір екі беш төрт"), 2.4), { text: "бір екі беш төрт", stable: 7 });
});

test("later hypotheses continue after the agreed words, even if these move by a frame", () => {
  const agreement = new LocalAgreement();
  agreement.hear(words("бір екі үш"), 1.7);
  assert.equal(agreement.hear(words("бір екі үш төрт"), 2.3).text, "бір екі үш төрт");
  assert.deepEqual(agreement.hear(words("кі үш төрт бес", 0.64), 3), {
    text: "бір екі үш төрт бес",
    stable: "бір екі үш төрт".length,
  });
});

test("words settle as in the last pass if no other follows", () => {
  const agreement = new LocalAgreement();
  agreement.hear(words("бір екі үш"), 1.7);
  agreement.settleBefore(1.15);
  assert.deepEqual(agreement.hear(words("төрт", 1.2), 2.3), { text: "бір екі төрт", stable: 7 });
});

test("silence gives no text", () => {
  const agreement = new LocalAgreement();
  agreement.settleBefore(3);
  assert.deepEqual(agreement.hear([], 1), { text: "", stable: 0 });
});

test("for any hypotheses, the stable text only grows and starts every text", () => {
  const hypothesis = fc.record({
    letters: fc.array(fc.constantFrom("а", "б", "𝄞"), { maxLength: 8 }),
    startSeconds: fc.integer({ min: 0, max: 20 }),
    settled: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(hypothesis, { maxLength: 20 }), (hypotheses) => {
      const agreement = new LocalAgreement();
      let promised = "";
      for (const [i, { letters, startSeconds, settled }] of hypotheses.entries()) {
        if (settled) agreement.settleBefore(startSeconds / 4);
        const { text, stable } = agreement.hear(words(letters.join(" "), startSeconds / 4), i);
        const agreed = [...text].slice(0, stable).join("");
        assert.ok(agreed.startsWith(promised), `"${agreed}" is less than "${promised}"`);
        promised = agreed;
      }
    }),
  );
});
