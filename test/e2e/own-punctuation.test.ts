import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { DauysClient } from "../../src/client/node.js";
import { speech, speechAsWav } from "../support/audio.js";
import { changeManifest, temporaryFolder } from "../support/folders.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";

const PACKAGE = "tiny-gigaam-ctc";
const SPOKEN = "asterisk-ru-core/conf-getconfno.flac";
/** Replaces the letters that the random graph often emits with punctuation and capitals. */
const RESPELLED: ReadonlyMap<string, string> = new Map([
  ...[..."абвгдежз"].map((letter): [string, string] => [letter, letter.toUpperCase()]),
  ...[..."ийкл"].map((letter): [string, string] => [letter, "."]),
  ...[..."мноп"].map((letter): [string, string] => [letter, ","]),
]);

let service: ServiceProcess;
let client: DauysClient;

before(async () => {
  const dataDir = await temporaryFolder();
  const folder = join(dataDir, "models", PACKAGE);
  await mkdir(join(dataDir, "models"));
  await cp(join("test/fixtures/adapters", PACKAGE), folder, { recursive: true });
  const tokens = join(folder, "tokens.txt");
  const text = (await readFile(tokens, "utf8"))
    .split("\n")
    .map((line) => (RESPELLED.get(line[0] ?? "") ?? line[0] ?? "") + line.slice(1));
  // A symbol may occur twice, because the vocabulary lists outputs rather than letters.
  await writeFile(tokens, text.join("\n"));
  const sha256 = createHash("sha256").update(text.join("\n")).digest("hex");
  await changeManifest(folder, (manifest) => {
    const files = manifest["files"] as Record<string, object>;
    return { ...manifest, files: { ...files, vocabulary: { path: "tokens.txt", sha256 } } };
  });
  service = await startServiceProcess({ DATA_DIR: dataDir });
  client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
});
after(async () => {
  assert.equal(await service?.stop(), 0, service?.output());
});

test("a file's readable text is the recogniser's own if it writes punctuation", async () => {
  const options = { model: PACKAGE, timestamps: true, display: true } as const;
  const { text, words, display_text, display_words, segments } = await client.transcribe(
    speechAsWav(SPOKEN),
    options,
  );
  assert.match(text, /\p{Lu}/u);
  assert.match(text, /[.,]/);
  assert.equal(display_text, text);
  assert.deepEqual(
    display_words?.map(({ word }) => word),
    words?.map(({ word }) => word),
  );
  assert.ok(segments?.every((segment) => segment.display_text === segment.text));
});

test("readable finals keep the recogniser's punctuation too, joined with spaces", async () => {
  const live = client.live({ model: PACKAGE, display: true });
  const finals: { text: string; display_text?: string | undefined; display_before?: string | undefined }[] =
    [];
  const reading = (async () => {
    for await (const result of live) if (result.type === "final" && result.text !== "") finals.push(result);
  })();
  for (let at = 0; at < 2; at++) {
    await live.send(speech(SPOKEN));
    live.finalize();
  }
  const { displayEnd } = await live.close();
  await reading;
  assert.ok(finals.length >= 2, `${finals.length} finals`);
  for (const [at, { text, display_text, display_before }] of finals.entries()) {
    assert.equal(display_text, text);
    assert.equal(display_before, at === 0 ? "" : " ");
  }
  assert.equal(displayEnd, "");
});
