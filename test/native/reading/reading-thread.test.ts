import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pausesAfter } from "../../../core/domain/text/display/pauses.js";
import type { ReadingTask } from "../../../core/domain/text/display/reading.js";
import { readPackage } from "../../../native/models/find-packages.js";
import type { PunctuationManifest } from "../../../native/models/manifest.js";
import { ReadingThread } from "../../../native/reading/reading-thread.js";
import { copyOfPackage } from "../../support/folders.js";

const TASK: ReadingTask = {
  words: "он пятнадцатого марта заплатил сто двадцать тысяч тенге это много".split(" "),
  pauses: null,
  display: true,
  numerals: "auto",
  redact: [],
  context: 0,
  previous: "none",
  isOver: true,
};

function lineOf({ pieces }: Awaited<ReturnType<ReadingThread["read"]>>): string {
  return pieces
    .map(({ text }) => text)
    .join(" ")
    .replaceAll("\u00a0", " ");
}

test("one thread reads many transcripts at a time, and restarts after it has stopped", async () => {
  const reader = new ReadingThread({ onFailure: assert.ifError });
  const many = await Promise.all(Array.from({ length: 20 }, () => reader.read(TASK)));
  for (const reading of many)
    assert.match(lineOf(reading), /^Он 15 марта заплатил 120 000 тенге\. Это много/);
  await reader.stop();
  assert.match(lineOf(await reader.read(TASK)), /^Он 15 марта/);
  await reader.stop();
});

test("a text that grows is read as a complete one, also if the thread restarts meanwhile", async () => {
  const reader = new ReadingThread({ onFailure: assert.ifError });
  const spoken = Array.from({ length: 100 }, () => TASK.words).flat();
  const words = spoken.map((word, nth) => {
    const start = nth * 0.5 + Math.floor(nth / TASK.words.length);
    return { word, start, end: start + 0.4 };
  });
  const task = { ...TASK, words: spoken, pauses: pausesAfter(words) };
  const whole = await reader.read(task);
  for (const restartsAt of [-1, 2]) {
    const text = reader.begin();
    for (let nth = 0; nth < 5; nth++) {
      text.add(words.slice(nth * 180, (nth + 1) * 180));
      if (nth === restartsAt) await reader.stop();
    }
    assert.deepEqual(await text.read(task), whole);
  }
  await reader.stop();
});

test("what was read of a growing text is used", async () => {
  const reader = new ReadingThread({ onFailure: assert.ifError });
  const timed = (word: string, nth: number) => ({ word, start: nth, end: nth + 0.9 });
  const text = reader.begin();
  // Read as questions, although the complete text says the same without them.
  text.add(
    Array.from({ length: 100 }, () => ["сколько", "это", "стоит"])
      .flat()
      .map(timed),
  );
  const words = Array.from({ length: 100 }, () => ["это", "много", "стоит"]).flat();
  const task = { ...TASK, words, pauses: new Float32Array(words.length) };
  assert.notDeepEqual(await text.read(task), await reader.read(task));
  await reader.stop();
});

test("the thread reads with the given package; if its weights are damaged, text has no punctuation", async () => {
  const folder = await copyOfPackage("test/fixtures/adapters/tiny-punct-cap-seg");
  const model = await readPackage<PunctuationManifest>(folder, "punctuation");
  const reader = new ReadingThread({ model, onFailure: assert.ifError });
  const shipped = new ReadingThread({ onFailure: assert.ifError });
  const line = lineOf(await reader.read(TASK));
  assert.match(line, /15 марта/);
  assert.notEqual(line, lineOf(await shipped.read(TASK)));
  await Promise.all([reader.stop(), shipped.stop()]);
  await writeFile(join(folder, "model.onnx"), "damaged");
  const failures: Error[] = [];
  const broken = new ReadingThread({ model, onFailure: (error) => failures.push(error as Error) });
  assert.equal(lineOf(await broken.read(TASK)), "Он 15 марта заплатил 120 000 тенге это много.");
  await broken.stop();
  assert.match(failures[0]!.message, /sha256 of .*model\.onnx must be/);
});

test("without the thread, text has no punctuation but is still masked", async () => {
  const failures: unknown[] = [];
  const entry = new URL("./no-such-worker.js", import.meta.url);
  const reader = new ReadingThread({ entry, onFailure: (error) => failures.push(error) });
  assert.equal(lineOf(await reader.read(TASK)), "Он 15 марта заплатил 120 000 тенге это много.");
  const words = "мой номер восемь семьсот один двести двадцать два сорок пять шестьдесят семь".split(" ");
  assert.equal(lineOf(await reader.read({ ...TASK, words, redact: ["phone"] })), "Мой номер [PHONE].");
  assert.equal(failures.length, 2);
  await reader.stop();
});
