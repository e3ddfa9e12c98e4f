// `dauys speak - --live` with a running service: text arrives on standard input while audio is written.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { temporaryFolder } from "../support/folders.js";
import { synthesisCredits } from "../support/prices.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { dauys } from "./support.js";

const TEXT = "Қайырлы таң! Бүгін 15% күн ашық.";

let service: SharedService;
let output: string;

before(async () => {
  service = await sharedService();
  output = join(await temporaryFolder(), "live.wav");
});

const speak = (stdin: string | Uint8Array, ...more: readonly string[]) =>
  dauys(["speak", "-", "--live", "--nfe", "4", "-o", output, ...more], {
    env: { DAUYS_URL: service.url, DAUYS_API_KEY: service.key },
    stdin,
  });

test("standard input becomes one WAV, and the command prints its price", async () => {
  const { code, stdout, stderr } = await speak(`\ufeff${TEXT}`, "--json", "--voice", "dauren");
  assert.equal(code, 0, stderr);
  const { first_audio_ms, ...said } = JSON.parse(stdout);
  const characters = [...TEXT].length;
  assert.deepEqual(said, { file: output, characters, credits: synthesisCredits(characters) });
  assert.ok(first_audio_ms > 0);
  const wav = await readFile(output);
  const header = parseWavHeader(wav, wav.length);
  assert.equal(header?.sampleRateHz, 24_000);
  assert.equal(header?.dataBytes, wav.length - 44);
  assert.ok(wav.length > 60_000);
});

test("the WAV has the requested sample rate", async () => {
  const { code, stderr } = await speak(TEXT, "--sample-rate", "8000");
  assert.equal(code, 0, stderr);
  assert.equal(parseWavHeader(await readFile(output), 44)?.sampleRateHz, 8_000);
});

test("text that cannot be spoken is explained, and costs nothing", async () => {
  const empty = await speak("");
  assert.equal(empty.code, 1);
  assert.match(empty.stderr, /standard input has nothing to speak; expected text/);
  const unknown = await speak(TEXT, "--voice", "nobody");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /voice must be one of .*, received "nobody"/);
  const env = { DAUYS_URL: service.url, DAUYS_API_KEY: service.key };
  const named = await dauys(["speak", TEXT, "--live", "-o", output], { env });
  assert.deepEqual([named.code, /--live speaks standard input/.test(named.stderr)], [2, true]);
  const coded = await speak(TEXT, "--encoding", "mulaw");
  assert.deepEqual(
    [coded.code, /--live cannot be combined with --encoding mulaw or alaw/.test(coded.stderr)],
    [2, true],
  );
});

test("--pronunciations sets how words sound", async () => {
  const lengths: number[] = [];
  for (const more of [[], ["--pronunciations", "GPT=қазақстан республикасы"]]) {
    const { code, stderr } = await speak("GPT.", ...more);
    assert.equal(code, 0, stderr);
    lengths.push((await readFile(output)).length);
  }
  assert.ok(lengths[1]! > 1.2 * lengths[0]!, String(lengths));
  const wrong = await speak("GPT.", "--pronunciations", "[{}]");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /pronunciations\[0\]\.word must be a string/);
});
