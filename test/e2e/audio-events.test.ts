import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import OpenAI5, { toFile as toFile5 } from "openai-5";
import OpenAI6, { toFile as toFile6 } from "openai-6";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const TEXT = "Кітапхана таңертең ашылып, кешке дейін жұмыс істейді. Кешке жабылады. Ертең қайта ашылады.";

let service: SharedService;
let spoken: Buffer;

before(async () => {
  service = await sharedService();
  const answer = await fetch(`${service.url}/v1/tts`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: JSON.stringify({ text: TEXT, nfe: 16 }),
  });
  spoken = Buffer.from(await answer.arrayBuffer());
});

// Both versions have the same calls, but their types exclude each other, so the older version's types are
// used for both.
const CLIENTS = [
  { version: "5", OpenAI: OpenAI5, toFile: toFile5 },
  { version: "6", OpenAI: OpenAI6 as unknown as typeof OpenAI5, toFile: toFile6 as typeof toFile5 },
];

interface SpeechEvent {
  readonly type: string;
  readonly audio?: string;
  readonly usage?: Readonly<Record<string, number>>;
}

async function eventsOf(answer: Response): Promise<readonly SpeechEvent[]> {
  const text = await answer.text();
  const blocks = text.split("\n\n").filter((block) => block.startsWith("data: "));
  return blocks.map((block) => JSON.parse(block.slice("data: ".length)) as SpeechEvent);
}

function audioOf(events: readonly SpeechEvent[]): Buffer {
  const deltas = events.filter(({ type }) => type === "speech.audio.delta");
  return Buffer.concat(deltas.map(({ audio }) => Buffer.from(audio!, "base64")));
}

for (const { version, OpenAI, toFile } of CLIENTS) {
  describe(`events of /v1/audio with the openai client ${version}`, () => {
    const client = () => new OpenAI({ apiKey: service.key, baseURL: `${service.url}/v1` });

    test("a transcription arrives as deltas that add up to its text", async () => {
      const request = { model: "gpt-4o-transcribe", file: await toFile(spoken, "speech.wav") } as const;
      const whole = await client().audio.transcriptions.create(request);
      const stream = await client().audio.transcriptions.create({ ...request, stream: true });
      const deltas: string[] = [];
      let done: { readonly text: string; readonly usage?: unknown } | null = null;
      for await (const event of stream) {
        assert.equal(done, null, "nothing follows the last event");
        if (event.type === "transcript.text.delta") deltas.push(event.delta);
        else if (event.type === "transcript.text.done") done = event;
      }
      assert.equal(done?.text, whole.text);
      assert.equal(deltas.join(""), whole.text);
      const seconds = (spoken.length - 44) / 2 / 24_000;
      assert.deepEqual(done?.usage, { type: "duration", seconds });
    });

    test("speech arrives as deltas with the same samples, as PCM and as WAV", async () => {
      const request = { model: "gpt-4o-mini-tts", voice: "aigul", input: TEXT } as const;
      const pcm = await client().audio.speech.create({ ...request, response_format: "pcm" });
      const samples = Buffer.from(await pcm.arrayBuffer());
      for (const format of ["pcm", "wav"] as const) {
        const answer = await client().audio.speech.create({
          ...request,
          response_format: format,
          stream_format: "sse",
        });
        assert.equal(answer.headers.get("content-type"), "text/event-stream");
        assert.equal(answer.headers.get("x-svc-credits"), pcm.headers.get("x-svc-credits"));
        const events = await eventsOf(answer as unknown as Response);
        const audio = audioOf(events);
        if (format === "pcm") assert.deepEqual(audio, samples);
        else {
          const header = parseWavHeader(audio, audio.length);
          assert.deepEqual([header?.sampleRateHz, header?.dataBytes], [24_000, samples.length]);
          assert.deepEqual(audio.subarray(header!.dataOffset), samples);
        }
        const characters = [...TEXT].length;
        assert.deepEqual(events.at(-1), {
          type: "speech.audio.done",
          usage: { input_tokens: characters, output_tokens: 0, total_tokens: characters },
        });
      }
    });

    test("verbose_json contains the granularities that were requested", async () => {
      const { transcriptions } = client().audio;
      const as = async (timestamp_granularities: ("word" | "segment")[] | undefined) =>
        transcriptions.create({
          model: "whisper-1",
          file: await toFile(spoken, "speech.wav"),
          response_format: "verbose_json",
          ...(timestamp_granularities !== undefined && { timestamp_granularities }),
        });
      const members = (answer: { readonly words?: unknown[]; readonly segments?: unknown[] }) =>
        (["words", "segments"] as const).filter((name) => (answer[name] ?? []).length > 0);
      assert.deepEqual(members(await as(["word"])), ["words"]);
      assert.deepEqual(members(await as(["segment"])), ["segments"]);
      assert.deepEqual(members(await as(["word", "segment"])), ["words", "segments"]);
      assert.deepEqual(members(await as(undefined)), ["words", "segments"]);
      await assert.rejects(as(["letter" as "word"]), OpenAI.BadRequestError);
    });
  });
}

test("events are charged once, and stored for retries with the same key", async () => {
  const customer = await sharedService();
  const post = (path: string, body: string | FormData) =>
    fetch(`${customer.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${customer.key}`, "idempotency-key": `events of ${path}` },
      body,
    });
  const balance = async () => {
    const headers = { authorization: `Bearer ${customer.key}` };
    const answer = await fetch(`${customer.url}/v1/usage`, { headers });
    const { data } = (await answer.json()) as { data: readonly { credits: number }[] };
    return data.reduce((sum, { credits }) => sum + credits, 0);
  };
  const form = () => {
    const fields = new FormData();
    fields.append("file", new Blob([new Uint8Array(spoken)]), "speech.wav");
    fields.append("stream", "true");
    return fields;
  };
  const speech = JSON.stringify({ input: TEXT, stream_format: "sse", response_format: "pcm" });
  for (const [path, body] of [
    ["/v1/audio/transcriptions", form],
    ["/v1/audio/speech", () => speech],
  ] as const) {
    const first = await post(path, body());
    const firstText = await first.text();
    assert.equal(first.status, 200, firstText);
    const second = await post(path, body());
    assert.equal(await second.text(), firstText);
    assert.equal(second.headers.get("idempotent-replayed"), "true");
  }
  const seconds = (spoken.length - 44) / 2 / 24_000;
  assert.equal(await balance(), Math.ceil(seconds * 2.5) + Math.ceil(([...TEXT].length * 2) / 5));
});
