import assert from "node:assert/strict";
import { before, test } from "node:test";
import { hearWords, recognizerLateness } from "../../bench/support/heard-words.js";
import { DauysClient } from "../../src/client/node.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const SENTENCES = [
  "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді.",
  "Қазақ тілі түркі тілдерінің қыпшақ тобына жатады.",
  "Бүгін ауа райы жақсы болады, таулы жерлерде жаңбыр жауады.",
  "Біз ертең достарымызбен бірге көлге барамыз.",
];
const RATE_HZ = 24_000;
/** Two frames of the recogniser, close to its resolution. The measured value is 23 ms over 40 sentences. */
const MAX_MEAN_START_DIFFERENCE = 0.08;
/** The same limit for the recogniser's own times. Without `emissionDelaySeconds` they are 0.2 s late. */
const MAX_LATENESS = 0.08;
/**
 * Half of the mean level of the speech. A word may contain the silence of stop closures, but is not silent as
 * a whole.
 */
const MIN_RELATIVE_LEVEL = 0.5;

let service: SharedService;
let client: DauysClient;

before(async () => {
  service = await sharedService();
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
});

test("words are reported in order, at the times when they are audible", async () => {
  const { voices } = await client.voices();
  const spoken = [];
  for (const [i, text] of SENTENCES.entries()) {
    const { name: voice } = voices[i % voices.length]!;
    spoken.push(await hearWords(client, { text, voice, nfe: 16, speed: i % 2 === 0 ? 1 : 1.3 }));
  }
  for (const { text, words, samples } of spoken) {
    assert.equal(words.map(({ word }) => word).join(" "), text.replace(/[,.]/g, ""));
    let lastEnd = 0;
    for (const { word, start, end } of words) {
      assert.ok(start >= lastEnd && end > start && end <= samples.length / RATE_HZ, `${word} at ${start}`);
      const level = rms(samples.subarray(Math.round(start * RATE_HZ), Math.round(end * RATE_HZ)));
      assert.ok(level > MIN_RELATIVE_LEVEL * rms(samples), `${word} is not heard at ${start} to ${end}`);
      lastEnd = end;
    }
  }
  const lateness = recognizerLateness(spoken);
  assert.ok(Math.abs(lateness) < MAX_LATENESS, `words of a transcript are ${lateness} s late`);
  const differences = spoken.flatMap(({ heard }) =>
    heard.map(({ startDifference }) => Math.abs(startDifference + lateness)),
  );
  assert.ok(differences.length > 15, `${differences.length} words were understood`);
  const mean = differences.reduce((sum, one) => sum + one, 0) / differences.length;
  assert.ok(mean < MAX_MEAN_START_DIFFERENCE, `${mean} s on average`);
});

test("pauses between sentences and pieces shift the words after them", async () => {
  const text = `${SENTENCES[3]} ${SENTENCES[1]}\n\n15 кітап!`;
  const { words = [], durationSeconds, usage } = await client.speak({ text, nfe: 8 }, { timestamps: true });
  assert.equal(usage.characters, [...text].length);
  const gapBefore = (word: string) => {
    const at = words.findIndex((one) => one.word === word);
    return words[at]!.start - words[at - 1]!.end;
  };
  assert.ok(gapBefore("Қазақ") >= 0.25 && gapBefore("Қазақ") < 0.45);
  assert.ok(gapBefore("15") >= 0.5 && gapBefore("15") < 0.7, "a paragraph ends with a longer pause");
  assert.match(words.find(({ word }) => word === "15")?.spoken ?? "", /^он бес/);
  assert.ok(words.at(-1)!.end > durationSeconds - 0.2);
});

test("an idempotency key covers the times option", async () => {
  const speak = async (query: string, key: string) => {
    const answer = await fetch(`${service.url}/v1/tts${query}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${service.key}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify({ text: "Сәлем!", nfe: 4 }),
    });
    return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const timed = await speak("?timestamps=true", "a");
  assert.equal(timed.headers.get("x-svc-chars"), "6");
  const again = await speak("?timestamps=1", "a");
  assert.deepEqual([again.headers.get("idempotent-replayed"), again.body], ["true", timed.body]);
  assert.equal((await speak("", "a")).status, 422);
  const plain = await speak("", "b");
  const { audio } = JSON.parse(timed.body.toString()) as { readonly audio: string };
  assert.deepEqual(Buffer.from(audio, "base64"), plain.body);
  assert.equal((await speak("?timestamps=false", "b")).headers.get("idempotent-replayed"), "true");
  const wrong = await speak("?timestamps=maybe", "c");
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.toString(), /timestamps must be true, false, 1 or 0/);
});

function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}
