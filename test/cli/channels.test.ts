import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import type { LiveFinal } from "../../src/client/live-types.js";
import { DauysClient } from "../../src/client/node.js";
import { toSrt } from "../../src/client/subtitles.js";
import type { Transcription } from "../../src/client/transcription-types.js";
import { interleaved, twoSpeakers, wavOfChannels } from "../support/channels.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { dauys } from "./support.js";

let service: SharedService;
let channels: readonly [Int16Array, Int16Array];
let env: Record<string, string>;
let folder: string;
let call: string;

before(async () => {
  service = await sharedService();
  channels = await twoSpeakers(service);
  folder = await temporaryFolder();
  env = { DATA_DIR: service.dataDir, DAUYS_API_KEY: service.key };
  call = join(folder, "call.wav");
  await writeFile(call, wavOfChannels(channels));
});

const speakersOf = (text: string) => [...text.matchAll(/^Speaker (\d): ./gm)].map(([, speaker]) => speaker);

test("transcribe --channels split names the speakers in text, subtitles and JSON", async () => {
  const command = ["transcribe", call, "--channels", "split"];
  const text = await dauysInTurn(command, { env });
  assert.equal(text.code, 0, text.stderr);
  assert.deepEqual(speakersOf(text.stdout), ["1", "2", "1"]);
  const srt = await dauysInTurn([...command, "--srt"], { env });
  assert.deepEqual(speakersOf(srt.stdout), ["1", "2", "1"]);
  const json = await dauysInTurn([...command, "--json"], { env });
  const transcription = JSON.parse(json.stdout) as Transcription;
  assert.deepEqual(
    transcription.channels!.map(({ channel, words }) => [channel, words]),
    [
      [0, undefined],
      [1, undefined],
    ],
  );
  const wrong = await dauysInTurn(["transcribe", call, "--channels", "2"], { env });
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--channels must be split or mix, received "2"/);
});

test("listen --channels prints a line for each turn, with its speaker", async () => {
  const { code, stdout, stderr } = await dauys(["listen", call, "--channels", "2"], { env });
  assert.equal(code, 0, stderr);
  const speakers = speakersOf(stdout);
  // A pause within a sentence may end an utterance.
  const turns = speakers.filter((speaker, nth) => speaker !== speakers[nth - 1]);
  assert.deepEqual(turns, ["1", "2", "1"]);
  assert.equal(speakers.length, stdout.trim().split("\n").length);
  const wrong = await dauys(["listen", call, "--channels", "3"], { env });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /the WAV must have 3 channels, received 2/);
});

test("speak writes telephone audio", async () => {
  const path = join(folder, "hello.wav");
  const command = ["speak", "Сәлем!", "-o", path, "--nfe", "4", "--encoding", "mulaw"];
  const { code, stderr } = await dauysInTurn(command, { env });
  assert.equal(code, 0, stderr);
  const { format, sampleRateHz } = parseWavHeader(await readFile(path))!;
  assert.deepEqual([format, sampleRateHz], ["mulaw", 8_000]);
  const streamed = await dauysInTurn([...command, "--stream"], { env });
  assert.equal(streamed.code, 2);
  assert.match(streamed.stderr, /--stream cannot be combined with --encoding mulaw or alaw/);
});

test("the client library transcribes channels of files and of live audio", async () => {
  const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  const samples = interleaved(channels);
  const live = client.live({ channelCount: 2, words: true, display: true });
  const finals: LiveFinal[] = [];
  const read = (async () => {
    for await (const result of live) if (result.type === "final") finals.push(result);
  })();
  await live.send(samples);
  const done = await live.close();
  await read;
  assert.equal(done.sessionIds.length, 2);
  assert.equal(done.unsettledConnections, 0);
  assert.equal(done.displayEnds!.length, 2);
  assert.equal(done.audioSeconds, channels[0].length / 16_000);
  const raw = { encoding: "linear16", channelCount: 2 } as const;
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const file = await client.transcribe(bytes, { channels: "split", raw, timestamps: true });
  for (const channel of [0, 1]) {
    const own = finals.filter((final) => final.channel === channel);
    assert.deepEqual(
      own.map(({ utterance }) => utterance),
      own.map((_, nth) => nth),
    );
    assert.equal(own.map(({ text }) => text).join(" "), file.channels![channel]!.text);
  }
  assert.deepEqual(speakersOf(toSrt(file)), ["1", "2", "1"]);
  assert.deepEqual(speakersOf(toSrt(file, { display: false })), ["1", "2", "1"]);
});
