import assert from "node:assert/strict";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type PartWithSpeaker, spokenBy } from "../../bench/support/marked-speakers.js";
import { speak } from "../../bench/support/spoken-stream.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import type { ListenTranscript } from "../../core/protocol/listen-file-schemas.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { DauysClient } from "../../src/client/node.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const TINY = "test/fixtures/adapters/tiny-pyannote";
const RATE_HZ = 16_000;
const FIRST = "Бүгін ауа райы жақсы болады.";
const SECOND = "Ертең жаңбыр жауады деп күтіледі.";

let dataDir: string;
let service: ServiceProcess;
/** Two speakers: one says the first sentence before and after the other says the second. */
let wav: Uint8Array<ArrayBuffer>;

before(async () => {
  dataDir = await temporaryFolder();
  await mkdir(join(dataDir, "models"));
  await cp(TINY, join(dataDir, "models/tiny-pyannote"), { recursive: true });
  service = await startServiceProcess({ DATA_DIR: dataDir });
  const [first, second] = [await speak(service, { text: FIRST }), await speak(service, { text: SECOND })];
  const parts: PartWithSpeaker[] = [
    { pcm: first, speaker: 0 },
    { pcm: second, speaker: 2 },
    { pcm: first, speaker: 0 },
  ];
  wav = new Uint8Array(writeWav(spokenBy(parts), RATE_HZ));
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

async function post(path: string, { url, key } = service): Promise<Response> {
  const headers = { authorization: `Bearer ${key}` };
  return await fetch(`${url}${path}`, { method: "POST", headers, body: wav });
}

async function transcribe(query: string): Promise<Transcription> {
  const answer = await post(`/v1/transcribe?${query}`);
  const body = await answer.text();
  assert.equal(answer.status, 200, body);
  return JSON.parse(body) as Transcription;
}

test("segments are split where the speaker changes, and each word has the speaker of its segment", async () => {
  const plain = await transcribe("timestamps=true");
  const { words = [], segments = [], speakers, text, credits_charged } = await transcribe("diarize=true");
  assert.equal(speakers, 2);
  assert.deepEqual(
    segments.map(({ speaker }) => speaker),
    [0, 1, 0],
  );
  assert.equal(segments.map((segment) => segment.text).join(" "), text);
  assert.ok(plain.segments!.length < 3, "speech without a pause is one segment");
  assert.equal(text, plain.text);
  assert.equal(credits_charged, plain.credits_charged);
  const bySegment = segments.flatMap(({ speaker, text: said }) => said.split(" ").map(() => speaker));
  assert.deepEqual(
    words.map(({ speaker }) => speaker),
    bySegment,
  );
  assert.ok(!("speakers" in plain) && plain.words!.every((word) => !("speaker" in word)));
});

test("readable words have speakers too, and each sentence belongs to one speaker", async () => {
  const { display_words = [], words = [] } = await transcribe("diarize=true&display=true");
  for (const { spoken, speaker } of display_words) assert.equal(speaker, words[spoken[0]]!.speaker);
});

test("a stated number of speakers is respected", async () => {
  assert.equal((await transcribe("diarize=true&speakers=1")).speakers, 1);
});

test("the progress and the result arrive as events", async () => {
  const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  const shares: number[] = [];
  const result = await client.transcribe(wav, { diarize: true, onProgress: (share) => shares.push(share) });
  assert.equal(result.speakers, 2);
  assert.equal(shares.at(-1), 1);
  assert.deepEqual(
    shares,
    shares.toSorted((a, b) => a - b),
  );
});

test("a job has the speakers of the same request, and names them in text and subtitles", async () => {
  const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  const job = await client.jobs.submit(wav, { diarize: true, speakers: 2 });
  const ended = await client.jobs.wait(job.id);
  assert.equal(ended.status, "done", JSON.stringify(ended.error));
  const { words, segments, speakers } = await client.jobs.result(job.id);
  const same = await transcribe("diarize=true&speakers=2");
  assert.deepEqual(
    { words, segments, speakers },
    { words: same.words, segments: same.segments, speakers: 2 },
  );
  assert.match(await client.jobs.resultText(job.id, "vtt"), /\n<v Speaker 1>.+\n<v Speaker 2>/su);
  const text = await client.jobs.resultText(job.id, "txt");
  assert.match(text, /^Speaker 1: .+\nSpeaker 2: .+\nSpeaker 1: .+\n$/);
});

test("Deepgram's diarize adds speakers to words, utterances and paragraphs", async () => {
  const answer = await post("/v1/listen?diarize=true&utterances=true&smart_format=true");
  assert.equal(answer.status, 200);
  const { results } = (await answer.json()) as ListenTranscript;
  const { words, paragraphs } = results.channels[0]!.alternatives[0]!;
  assert.deepEqual([...new Set(words.map(({ speaker }) => speaker))], [0, 1]);
  assert.deepEqual(
    results.utterances!.map(({ speaker }) => speaker),
    [0, 1, 0],
  );
  assert.deepEqual(
    paragraphs!.paragraphs.map(({ speaker }) => speaker),
    [0, 1, 0],
  );
});

test("the command prints a line for each turn, and names speakers in subtitles", async () => {
  const path = join(dataDir, "talk.wav");
  await writeFile(path, wav);
  const env = { DAUYS_URL: service.url, DAUYS_API_KEY: service.key };
  const { stdout } = await dauysInTurn(["transcribe", path, "--diarize", "--plain"], { env });
  assert.match(stdout, /^Speaker 1: .+\nSpeaker 2: .+\nSpeaker 1: .+\n$/su);
  const vtt = await dauysInTurn(["transcribe", path, "--diarize", "--vtt"], { env });
  assert.match(vtt.stdout, /\n<v Speaker 1>.+\n<v Speaker 2>.+\n<v Speaker 1>/su);
  const folder = join(dataDir, "by-jobs");
  await dauysInTurn(["transcribe", path, "--diarize", "--plain", "--jobs", "-o", folder], { env });
  assert.equal(await readFile(join(folder, "talk.wav.txt"), "utf8"), stdout);
  const srt = await dauysInTurn(["transcribe", path, "--diarize", "--srt"], { env });
  assert.match(srt.stdout, /\nSpeaker 1: .+\nSpeaker 2: .+\nSpeaker 1: /su);
});

test("diarization of separately transcribed channels is rejected", async () => {
  for (const [path, split] of [
    ["/v1/transcribe?channels=split", "channels=split"],
    ["/v1/listen?multichannel=true", "multichannel=true"],
  ] as const) {
    const answer = await post(`${path}&diarize=true`);
    assert.equal(answer.status, 400);
    const rule = `diarize=true and ${split} exclude each other, received both: leave out one of them`;
    assert.ok((await answer.text()).includes(rule));
  }
});

test("a number of speakers is rejected without diarize or when it is out of range", async () => {
  for (const [query, detail] of [
    ["speakers=2", "speakers requires diarize=true, received speakers=2 alone"],
    ["diarize=true&speakers=21", 'speakers must be an integer from 1 to 20, received "21"'],
    ["diarize=perhaps", 'diarize must be true, false, 1 or 0, received "perhaps"'],
  ] as const) {
    const answer = await post(`/v1/transcribe?${query}`);
    assert.equal(answer.status, 400);
    assert.deepEqual(await answer.json(), { detail });
  }
});

test("without a model for diarization, a request for diarization is rejected with the model's name and not charged", async () => {
  const bare = await startServiceProcess();
  try {
    for (const path of ["/v1/transcribe", "/v1/listen", "/v1/jobs/transcriptions"]) {
      const answer = await post(`${path}?diarize=true`, bare);
      assert.equal(answer.status, 400);
      assert.equal(answer.headers.get("x-svc-error"), "diarization_unavailable");
      assert.match(await answer.text(), /dauys models add speakers-eres2net/);
    }
  } finally {
    assert.equal(await bare.stop(), 0, bare.output());
  }
});
