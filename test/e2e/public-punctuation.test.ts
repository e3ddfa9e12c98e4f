import assert from "node:assert/strict";
import { cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runLive } from "../../bench/support/live-client.js";
import { speak } from "../../bench/support/spoken-stream.js";
import { writeWav } from "../../core/domain/audio/wav.js";
import { displayedWords, displayLine } from "../../core/domain/text/display/display-text.js";
import type { Transcription } from "../../core/protocol/transcription-schemas.js";
import { punctuationFamilyOf } from "../../native/models/families.js";
import { readPackage } from "../../native/models/find-packages.js";
import type { PunctuationManifest } from "../../native/models/manifest.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const TINY = "test/fixtures/adapters/tiny-punct-cap-seg";
const RATE_HZ = 16_000;
const SPOKEN = "Бүгін ауа райы жақсы болады, ертең жаңбыр жауады деп күтіледі.";

let dataDir: string;
let service: ServiceProcess;
let spoken: Int16Array;

before(async () => {
  dataDir = await temporaryFolder();
  const models = join(dataDir, "models");
  await mkdir(models);
  await cp(TINY, join(models, "tiny-punct-cap-seg"), { recursive: true });
  await dauysInTurn(["models", "use", "tiny-punct-cap-seg"], { env: { DATA_DIR: dataDir } });
  service = await startServiceProcess({ DATA_DIR: dataDir });
  spoken = await speak(service, { text: SPOKEN });
});
after(async () => {
  assert.equal(await service.stop(), 0, service.output());
});

/** The text as the package writes it when it runs in this process. */
async function writtenByPackage(text: string, isOpen: boolean): Promise<string> {
  const model = await readPackage<PunctuationManifest>(TINY, "punctuation");
  const punctuation = await punctuationFamilyOf(model.manifest).load(model, { intraOpThreads: 1 });
  const words = text.split(" ");
  const displayed = displayedWords(words, await punctuation.read(words), { numerals: "none", isOpen });
  await punctuation.release();
  return displayLine(displayed.map((word) => word.text));
}

test("models use makes public punctuation the default, and models list says so", async () => {
  const defaults = JSON.parse(await readFile(join(dataDir, "models/defaults.json"), "utf8"));
  assert.deepEqual(defaults, { punctuation: "tiny-punct-cap-seg" });
  const { stdout } = await dauysInTurn(["models", "list"], { env: { DATA_DIR: dataDir } });
  assert.match(stdout, /tiny-punct-cap-seg {2}\(installed, default for punctuation\)/);
  assert.match(stdout, /punctuation-v1 {2}\(installed\)\n {2}task +punctuation/);
});

test("files are displayed with the punctuation and capitals of the chosen package", async () => {
  const answer = await fetch(`${service.url}/v1/transcribe?display=true&numerals=none`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.key}` },
    body: new Uint8Array(writeWav(spoken, RATE_HZ)),
  });
  const { text, display_text } = (await answer.json()) as Transcription;
  const expected = await writtenByPackage(text, false);
  assert.equal(display_text!.replace(/[.?]$/, ""), expected.replace(/[,.?]$/, ""));
  assert.notEqual(display_text, text);
});

test("live finals are displayed with the punctuation and capitals of the chosen package", async () => {
  const pcm = new Int16Array([...spoken, ...new Int16Array(RATE_HZ)]);
  const query = "?partials=false&display=true&numerals=none&eou_ms=700";
  const { received } = await runLive({ ...service, pcm, messageSamples: 1_600, isPaced: false, query });
  const finals = received.flatMap(({ message }) => (message.type === "final" ? [message] : []));
  assert.equal(finals.length, 1);
  const expected = await writtenByPackage(finals[0]!.text, false);
  assert.equal(finals[0]!.display_text!.replace(/[,.?]$/, ""), expected.replace(/[,.?]$/, ""));
});

test("models use punctuation-v1 returns to the shipped package, also where MODELS_DIR lacks it", async () => {
  const models = await temporaryFolder();
  await cp(TINY, join(models, "tiny-punct-cap-seg"), { recursive: true });
  const env = { MODELS_DIR: models };
  const defaults = async () => JSON.parse(await readFile(join(models, "defaults.json"), "utf8"));
  await dauysInTurn(["models", "use", "tiny-punct-cap-seg"], { env });
  assert.deepEqual(await defaults(), { punctuation: "tiny-punct-cap-seg" });
  assert.equal((await dauysInTurn(["models", "use", "punctuation-v1"], { env })).code, 0);
  assert.deepEqual(await defaults(), {});
  const { stdout } = await dauysInTurn(["models", "list"], { env });
  assert.match(stdout, /tiny-punct-cap-seg {2}\(installed\)/);
});

test("models remove returns to the shipped punctuation", async () => {
  const other = await temporaryFolder();
  await mkdir(join(other, "models"));
  await cp(TINY, join(other, "models/tiny-punct-cap-seg"), { recursive: true });
  await dauysInTurn(["models", "use", "tiny-punct-cap-seg"], { env: { DATA_DIR: other } });
  const { stderr } = await dauysInTurn(["models", "remove", "tiny-punct-cap-seg"], {
    env: { DATA_DIR: other },
  });
  assert.match(stderr, /punctuation-v1 is now the default for punctuation/);
});
