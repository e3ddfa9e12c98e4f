import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonInTurns } from "../../src/http/long-body.js";

async function textOf(value: object): Promise<string> {
  const { bytes, parts } = await jsonInTurns(value);
  const body = Buffer.concat([...parts]);
  assert.equal(body.length, bytes);
  return body.toString();
}

function wordsOf(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({ word: `сөз "${at}"`, start: at / 3, end: null }));
}

test("JSON written over several turns has the same bytes as the result of JSON.stringify", async () => {
  for (const count of [0, 1, 1_999, 2_000, 2_001, 4_000, 4_001]) {
    const [words, segments] = [wordsOf(count), wordsOf(count / 2)];
    for (const value of [
      { text: "сәлем", words, gone: undefined, segments },
      { words },
      { words, rtf: null, chunks: 3 },
      {},
    ]) {
      assert.equal(await textOf(value), JSON.stringify(value));
    }
  }
});

test("a long list is written over many turns of the event loop", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await textOf({ words: wordsOf(40_000) });
  isOver = true;
  assert.ok(turns >= 18, `${turns} turns`);
});
