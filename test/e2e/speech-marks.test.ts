import assert from "node:assert/strict";
import { before, test } from "node:test";
import { WavSampleReader } from "../../core/domain/audio/wav-samples.js";
import { WavFrameReader } from "../../core/protocol/wav-frames.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const RATE_HZ = 24_000;
/** -60 dB of full scale. Anything below is inaudible. */
const SILENT_BELOW = 0.001;
/** How much the edges of speech around a pause may vary. */
const TOLERANCE_MS = 20;

let service: SharedService;

before(async () => {
  service = await sharedService();
});

test("a pause mark adds exactly its silence: at the start, within and between sentences, and at the end", async () => {
  for (const voice of ["aigul", "dauren", "saule", "timur"]) {
    const text = `[pause 300ms]Қайырлы таң [pause 500ms] достар! [pause 1.5s] Бүгін ауа райы жақсы. [pause 0.7s]`;
    const answer = await post("/v1/tts", { text, voice, nfe: 8 });
    assert.equal(answer.headers.get("x-svc-chars"), String(text.length));
    const found = silences(samplesOf(Buffer.from(await answer.arrayBuffer())), 200);
    assertPauses(found, [300, 500, 1_500, 700], voice);
  }
});

test("a mark ends a frame of the stream with its own silence instead of the full stop's", async () => {
  const text = "Бірінші бөлім осы. [pause 900ms] Екінші бөлім, [pause 400ms] соңы.";
  const reader = new WavFrameReader();
  const frames = reader.push(
    new Uint8Array(await (await post("/v1/tts/stream", { text, nfe: 8 })).arrayBuffer()),
  );
  assert.equal(frames.length, 3);
  const samples = frames.map((frame) => samplesOf(Buffer.from(frame)));
  assertPauses(silences(joined(samples), 200), [900, 400], "stream");
  assertPauses(silences(samples[0]!, 200), [900 - 30], "first frame");
});

test("marks also work on the OpenAI-compatible path, whole and as PCM", async () => {
  const input = "Сәлеметсіз бе! [pause 1s] Қош келдіңіз.";
  const wav = await post("/v1/audio/speech", { input });
  assertPauses(silences(samplesOf(Buffer.from(await wav.arrayBuffer())), 200), [1_000], "wav");
  const raw = await (await post("/v1/audio/speech", { input, response_format: "pcm" })).arrayBuffer();
  assertPauses(
    silences(
      Float32Array.from(new Int16Array(raw), (value) => value / 32_768),
      200,
    ),
    [1_000],
    "pcm",
  );
});

test("a pause that is too long or has no unit is rejected before anything is charged", async () => {
  for (const [path, field] of [
    ["/v1/tts", "text"],
    ["/v1/tts/stream", "text"],
    ["/v1/audio/speech", "input"],
  ] as const) {
    const answer = await request(path, { [field]: "Сәлем [pause 15s] әлем" });
    assert.equal(answer.status, 400);
    const { detail } = (await answer.json()) as { detail: string };
    assert.equal(
      detail,
      `${field}: a pause must be [pause 500ms] or [pause 1.5s] of at most 10 s, received "[pause 15s]"`,
    );
    assert.equal(answer.headers.get("x-svc-credits"), null);
  }
});

test("on every path a dictionary gives the same speech as a text with its spellings", async () => {
  const pronunciations = [
    { word: "kaspi", say: "каспий" },
    { word: "GPT", say: "джи пи ти" },
  ];
  const written = "Kaspi-ге GPT керек.";
  const meant = "Каспийге джи пи ти керек.";
  const voicing = { seed: 3, nfe: 4 };
  for (const [path, field] of [
    ["/v1/tts", "text"],
    ["/v1/tts/stream", "text"],
    ["/v1/audio/speech", "input"],
  ] as const) {
    const bytesOf = async (body: object) => Buffer.from(await (await post(path, body)).arrayBuffer());
    const spoken = await bytesOf({ [field]: written, pronunciations, ...voicing });
    assert.ok(spoken.equals(await bytesOf({ [field]: meant, ...voicing })), path);
    assert.ok(!spoken.equals(await bytesOf({ [field]: written, ...voicing })), path);
  }
  const answer = await post("/v1/tts", { text: written, pronunciations, ...voicing });
  assert.equal(
    answer.headers.get("x-svc-chars"),
    String(written.length),
    "the text is billed, not the dictionary",
  );
});

test("under an idempotency key a different dictionary is a different request, unless it only writes the same entries differently", async () => {
  const ask = (pronunciations: readonly object[]) =>
    request("/v1/tts", { text: "Kaspi", nfe: 4, pronunciations }, { "idempotency-key": "dictionary" });
  const first = await ask([{ word: "Kaspi", say: "каспий" }]);
  assert.equal(first.status, 200);
  const again = await ask([{ say: "Каспий!", word: "«Kaspi»" }]);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  const other = await ask([{ word: "Kaspi", say: "каспы" }]);
  assert.equal(other.status, 422);
  assert.equal(other.headers.get("x-svc-error"), "idempotency_key_reused");
});

function assertPauses(found: readonly number[], asked: readonly number[], where: string): void {
  const said = `${where}: asked ${asked.join(", ")} ms, heard ${found.map(Math.round).join(", ")} ms`;
  assert.equal(found.length, asked.length, said);
  for (const [index, milliseconds] of asked.entries()) {
    assert.ok(Math.abs(found[index]! - milliseconds) <= TOLERANCE_MS, said);
  }
}

/** Returns the lengths of all silences that last at least this long, in milliseconds. */
function silences(samples: Float32Array, leastMs: number): number[] {
  const lengths: number[] = [];
  let run = 0;
  for (const sample of [...samples, 1]) {
    if (Math.abs(sample) < SILENT_BELOW) {
      run++;
      continue;
    }
    const milliseconds = (run / RATE_HZ) * 1_000;
    if (milliseconds >= leastMs) lengths.push(milliseconds);
    run = 0;
  }
  return lengths;
}

function samplesOf(wav: Buffer): Float32Array {
  return new WavSampleReader(wav.length).push(wav);
}

function joined(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

async function post(path: string, body: object): Promise<Response> {
  const answer = await request(path, body);
  assert.equal(answer.status, 200, answer.status === 200 ? "" : await answer.clone().text());
  return answer;
}

function request(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}
