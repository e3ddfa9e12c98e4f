import assert from "node:assert/strict";
import { test } from "node:test";
import { type ReadableEvent, ReadableEvents } from "../../../actors/live/readable-events.js";
import {
  type ReadingOptions,
  type ReadingTask,
  readWords,
} from "../../../core/domain/text/display/reading.js";
import { deferred } from "../../../core/kernel/deferred.js";
import type { LiveEvent } from "../../../core/ports/live-decoder.js";

const RATE_HZ = 16_000;
const OPTIONS: ReadingOptions = { display: true, numerals: "auto", redact: [] };

/** A session in which "болды" as the last word ends a sentence. */
function session(options: Partial<ReadingOptions> = {}, gate: Promise<void> = Promise.resolve()) {
  const tasks: ReadingTask[] = [];
  const events: ReadableEvent[] = [];
  const readable = new ReadableEvents({
    options: { ...OPTIONS, ...options },
    sampleRateHz: RATE_HZ,
    sentence: { endAfter: (words) => (words.at(-1) === "болды" ? 0.95 : 0.1) },
    reader: {
      async read(task) {
        tasks.push(task);
        await gate;
        const count = task.words.length;
        return readWords(task, {
          marks: task.words.map((word) => (word === "болды" ? "." : "")),
          cases: Array.from({ length: count }, () => "lower"),
          stops: Array.from({ length: count }, () => "."),
        });
      },
    },
    emit: (event) => events.push(event),
  });
  return { readable, events, tasks };
}

function final(utterance: number, text: string, start: number, end: number): LiveEvent {
  const words = text.split(" ");
  const step = (end - start) / words.length;
  return {
    type: "final",
    utterance,
    text,
    startSample: start * RATE_HZ,
    endSample: end * RATE_HZ,
    words: words.map((word, at) => ({
      word,
      start: start + at * step,
      end: start + (at + 1) * step,
      confidence: 0.9,
    })),
  };
}

function partial(utterance: number, text: string): LiveEvent {
  return { type: "partial", utterance, text, startSample: 0, endSample: 0 };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The text as a client assembles it. */
function joined(events: readonly ReadableEvent[]): string {
  return events
    .flatMap((event) =>
      event.type === "final" && event.readable ? [event.readable.before + event.readable.text] : [],
    )
    .join("");
}

test("events after a final wait for its text and keep their order", async () => {
  const gate = deferred<void>();
  const { readable, events } = session({}, gate.promise);
  readable.onEvent(partial(0, "мен"));
  readable.onEvent(final(0, "мен келдім", 0, 1));
  readable.onEvent(partial(1, "ол"));
  readable.onEvent({ type: "finished" });
  await settled();
  assert.deepEqual(
    events.map(({ type }) => type),
    ["partial"],
  );
  gate.resolve();
  await settled();
  assert.deepEqual(
    events.map(({ type }) => type),
    ["partial", "final", "partial", "finished"],
  );
});

test("a sentence that continues in the next final is joined without punctuation", async () => {
  const { readable, events, tasks } = session();
  readable.onEvent(final(0, "мен кеше", 0, 1));
  readable.onEvent(final(1, "келген едім бірақ жабық болды", 1.4, 3));
  readable.onEvent(final(2, "ал сен", 3.5, 4));
  await settled();
  assert.equal(joined(events), "Мен кеше келген едім бірақ жабық болды. Ал сен");
  assert.deepEqual(
    tasks.map(({ context, isOver }) => [context, isOver]),
    [
      [0, false],
      [2, true],
      [0, false],
    ],
  );
  assert.equal(readable.lastStop, ".");
});

test("a second of silence ends the sentence", async () => {
  const { readable, events } = session();
  readable.onEvent(final(0, "мен кеше", 0, 1));
  readable.onEvent(final(1, "келген едім", 2.1, 3));
  await settled();
  assert.equal(joined(events), "Мен кеше. Келген едім");
});

test("finalize ends only the sentence of the utterance before it", async () => {
  const { readable, events } = session();
  readable.markedAt(4.2 * RATE_HZ);
  readable.onEvent(final(0, "мен кеше", 0, 1));
  readable.onEvent(final(1, "келген едім", 3.5, 4));
  await settled();
  assert.equal(joined(events), "Мен кеше. Келген едім.");
  assert.equal(readable.lastStop, "");
});

test("with masking, partials are empty and finals omit the number", async () => {
  const { readable, events } = session({ redact: ["phone"] });
  readable.onEvent(partial(0, "сегіз жеті жүз бір"));
  readable.onEvent(final(0, "сегіз жеті жүз бір екі жүз жиырма екі қырық бес алпыс жеті болды", 0, 8));
  await settled();
  assert.deepEqual(
    events.map((event) => ("text" in event ? event.text : "")),
    ["", "[PHONE] болды"],
  );
  const [, event] = events;
  assert.ok(event?.type === "final" && event.readable !== undefined);
  assert.equal(event.readable.text, "[PHONE] болды.");
  assert.deepEqual(
    event.words.map(({ word }) => word),
    ["[PHONE]", "болды"],
  );
  assert.deepEqual(
    event.readable.words.map(({ spoken }) => spoken),
    [
      [0, 1],
      [1, 2],
    ],
  );
  assert.equal(event.readable.redactions.length, 1);
});

test("a final without text is sent without affecting the next one", async () => {
  const { readable, events } = session();
  readable.onEvent(final(0, "мен кеше", 0, 1));
  readable.onEvent({ type: "final", utterance: 1, text: "", startSample: 0, endSample: 0, words: [] });
  readable.onEvent(final(2, "келдім", 1.5, 2));
  await settled();
  assert.equal(joined(events), "Мен кеше келдім");
});

test("a partial has the probability of a sentence end only in a pause", () => {
  const { readable, events } = session();
  readable.onEvent(partial(0, "жабық болды"));
  readable.onEvent({ ...partial(0, "жабық болды"), isPause: true } as LiveEvent);
  assert.deepEqual(
    events.map((event) => (event.type === "partial" ? event.endOfTurn : null)),
    [undefined, 0.95],
  );
});

/** The pause before a final, as a partial. */
function pauseBefore(event: LiveEvent): LiveEvent {
  assert.equal(event.type, "final");
  const { utterance, text, words } = event as Extract<LiveEvent, { type: "final" }>;
  return { ...partial(utterance, text), isPause: true, words } as LiveEvent;
}

test("a final whose text was read in its pause is not read again, and is the same", async () => {
  const finals = [
    final(0, "жабық болды", 0, 1.00003),
    final(1, "мен", 1.3, 2),
    final(2, "келдім", 4, 5),
    final(3, "ол болды", 5.2, 6),
  ];
  const [early, late] = [session(), session()];
  for (const event of finals) {
    early.readable.onEvent(pauseBefore(event));
    assert.equal(early.tasks.length, event.type === "final" ? event.utterance + 1 : 0);
    for (const each of [early, late]) each.readable.onEvent(event);
    await settled();
  }
  assert.deepEqual(
    early.events.filter(({ type }) => type === "final"),
    late.events,
  );
  assert.deepEqual(early.tasks, late.tasks);
});

test("a final is read again if speech went on after the pause, or the client ended the utterance", async () => {
  const { readable, events, tasks } = session();
  readable.onEvent(pauseBefore(final(0, "мен", 0, 1)));
  readable.onEvent(final(0, "мен келдім", 0, 2));
  await settled();
  assert.deepEqual(
    tasks.map(({ words }) => words.length),
    [1, 2],
  );
  const ended = final(1, "ол", 2.5, 3);
  readable.onEvent(pauseBefore(ended));
  readable.markedAt(3.5 * RATE_HZ);
  readable.onEvent(ended);
  await settled();
  assert.deepEqual(
    tasks.slice(2).map(({ isOver }) => isOver),
    [false, true],
  );
  assert.equal(joined(events), "Мен келдім ол.");
});
