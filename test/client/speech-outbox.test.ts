import assert from "node:assert/strict";
import { test } from "node:test";
import { countCodePoints } from "../../core/domain/text/code-points.js";
import { SpeechOutbox } from "../../src/client/speech-outbox.js";
import * as fc from "../support/properties.js";

const MOST_AHEAD = 8_000;

function sentBy(outbox: SpeechOutbox): string[] {
  const sent: string[] = [];
  for (let next = outbox.next(); next !== null; next = outbox.next())
    sent.push(next.type === "text" ? next.text : next.type);
  return sent;
}

test("pieces are joined, long ones are cut, and surrogate pairs stay whole", () => {
  const outbox = new SpeechOutbox();
  for (const piece of ["Сә", "", "лем. "]) outbox.text(piece);
  outbox.flush();
  assert.deepEqual(sentBy(outbox), ["Сәлем. ", "flush"]);
  const long = `${"а".repeat(1_999)}😀${"б".repeat(2_500)}`;
  outbox.text(long);
  const pieces = sentBy(outbox);
  assert.deepEqual(
    pieces.map(({ length }) => length),
    [2_001, 2_000, 500],
  );
  assert.equal(pieces.join(""), long);
  assert.ok(pieces.every((piece) => piece.isWellFormed()));
});

test("text waits while the service is behind, and continues as the service starts, skips or ends sentences", () => {
  const outbox = new SpeechOutbox();
  outbox.text("а".repeat(10_000));
  outbox.flush();
  outbox.text("б".repeat(1_000));
  assert.equal(sentBy(outbox).join("").length, MOST_AHEAD);
  outbox.begun(0, 1_000);
  assert.equal(sentBy(outbox).join("").length, 1_000);
  outbox.begun(0, 500);
  assert.deepEqual(sentBy(outbox), []);
  outbox.begun(0, 3_000);
  assert.deepEqual(sentBy(outbox), ["а".repeat(1_000), "flush", "б".repeat(1_000)]);
  assert.ok(outbox.isEmpty);
  outbox.over(0);
  outbox.text("в".repeat(8_000));
  assert.equal(sentBy(outbox).join("").length, 7_000);
});

test("a cancel drops waiting text, but neither flushes nor the end", () => {
  const outbox = new SpeechOutbox();
  outbox.text("Бір. ");
  outbox.flush();
  outbox.text("Екі. ");
  outbox.flush();
  outbox.close();
  assert.equal(outbox.cancel({ playedSeconds: 1.5, playedTurn: 0 }), 2);
  assert.deepEqual(sentBy(outbox), ["flush", "flush", "cancel", "close"]);
  for (const [playedSeconds, sent] of [
    [2.5, { played_seconds: 2.5, played_turn: 1 }],
    [-0.01, { played_seconds: 0, played_turn: 1 }],
    [Number.NaN, {}],
  ] as const) {
    outbox.cancel({ playedSeconds, playedTurn: 1 });
    assert.deepEqual(outbox.next(), { type: "cancel", ...sent });
  }
});

test("in any order, the service gets all text that was not cancelled, and never too much of it", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("text" as const), length: fc.nat({ max: 6_000 }) }),
    fc.constantFrom({ type: "flush" as const }, { type: "cancel" as const }, { type: "speak" as const }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const outbox = new SpeechOutbox();
      let counted = 0;
      let received = 0;
      /** Characters that wait at the service by turn, and how many of each turn were spoken. */
      let waiting = new Map<number, number>();
      const spoken = new Map<number, number>();
      let written = 0;
      let wholeText = 0;
      const deliver = () => {
        for (let next = outbox.next(); next !== null; next = outbox.next()) {
          if (next.type === "text") {
            const length = countCodePoints(next.text);
            waiting.set(received, (waiting.get(received) ?? 0) + length);
            wholeText += length;
          } else {
            if (next.type === "cancel") waiting = new Map();
            received++;
          }
          const sum = [...waiting.values()].reduce((all, one) => all + one, 0);
          assert.ok(sum <= MOST_AHEAD, `${sum} characters wait`);
        }
      };
      for (const { type, ...rest } of steps) {
        if (type === "text") {
          const length = "length" in rest ? rest.length : 0;
          outbox.text("а".repeat(length));
          written += length;
        } else if (type === "flush") {
          outbox.flush();
          counted++;
        } else if (type === "cancel") {
          outbox.cancel({});
          counted++;
          written = wholeText;
        } else {
          const [turn, length] = [...waiting][0] ?? [null, 0];
          if (turn === null) continue;
          waiting.delete(turn);
          spoken.set(turn, (spoken.get(turn) ?? 0) + length);
          outbox.begun(turn, spoken.get(turn)!);
        }
        deliver();
      }
      while (waiting.size > 0) {
        for (const [turn, length] of waiting) {
          spoken.set(turn, (spoken.get(turn) ?? 0) + length);
          outbox.begun(turn, spoken.get(turn)!);
        }
        waiting.clear();
        deliver();
      }
      assert.ok(outbox.isEmpty);
      assert.equal(received, counted);
      assert.equal(wholeText, written);
    }),
  );
});
