import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { errorRates } from "../../bench/evaluate/error-rates.js";
import { launchConsoleBrowser, SPOKEN, spokenWav } from "../console/browser-speech.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { ROOT, read, tableRows } from "./markdown.js";

const EXAMPLES = join(ROOT, "docs/examples");
const TEXT = "Қайырлы таң!";
const PATIENCE_MS = 60_000;
/** Share of the text's length: a few letters may be missing, but not words. */
const HEARD_LENGTH = 0.9;
/** As in the console tests: tolerance for the service's own errors and the browser's audio processing. */
const MAX_CHARACTER_ERROR_RATE = 0.15;

let service: SharedService;
let folder: string;
/** Speech synthesized by the service, as if from a microphone. */
let recording: string;

before(async () => {
  service = await sharedService();
  folder = await mkdtemp(join(tmpdir(), "dauys-examples-"));
  recording = join(folder, "recording.wav");
  await writeFile(recording, await spokenWav(service));
});
after(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

test("docs/examples/README.md lists every program", () => {
  const rows = tableRows(read("docs/examples/README.md"));
  const listed = rows.flatMap(([names = ""]) =>
    [...names.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1]!),
  );
  assert.deepEqual(listed.toSorted(), [
    ...["agent.mjs", "assistant.mjs", "client.mjs", "deepgram.mjs", "jobs.py", "live.mjs", "live.py"],
    ...["microphone.sh", "openai_shape.py", "page-server.mjs", "page.html", "realtime.mjs", "recorder.html"],
    ...["speak-and-transcribe.sh"],
  ]);
});

test("curl synthesizes a file and transcribes it with word times", async () => {
  const file = join(folder, "curl.wav");
  const answer = JSON.parse(await run("sh", "speak-and-transcribe.sh", TEXT, file)) as {
    readonly text: string;
    readonly words: readonly unknown[];
  };
  assert.notEqual(answer.text, "");
  assert.ok(answer.words.length > 0);
  await assertWav(file);
});

test("the client library does the same", async () => {
  const file = join(folder, "client.wav");
  const lines = (await run("node", "client.mjs", TEXT, file)).trim().split("\n");
  assert.match(lines[0]!, /^\d\.\d\d \d\.\d\d Қайырлы$/);
  assert.match(lines.at(-1)!, /^[а-яәіңғүұқөһё ]+$/);
  await assertWav(file);
});

test("text in pieces is spoken over Deepgram's socket, and transcribed in its shape", async () => {
  const file = join(folder, "deepgram.wav");
  const lines = (await run("node", "deepgram.mjs", "Қайырлы таң! Бүгін күн ашық.", file)).trim().split("\n");
  assert.equal(lines[0], "Metadata");
  assert.match(lines[1]!, /^\d\.\d\d [а-яәіңғүұқөһё ]+$/);
  // Telephone quality: one byte per sample, 8,000 samples a second.
  await assertWav(file, 8_000);
});

test("an assistant's text is spoken as it arrives, until its listener interrupts", async () => {
  const file = join(folder, "assistant.wav");
  const text = "Қайырлы таң! Бүгін күн ашық болады. Кешке жаңбыр жауады, қолшатыр алыңыз.";
  const command = 'printf "%s" "$1" | node assistant.mjs "$2" 1';
  const lines = (await run("sh", "-c", command, "sh", text, file)).trim().split("\n");
  assert.match(lines[0]!, /^\d+\.\d\d Қайырлы таң!$/);
  assert.match(lines.at(-1)!, /^heard: Қайырлы/);
  await assertWav(file);
});

test("the Python example uses the OpenAI-compatible paths", async () => {
  const file = join(folder, "python.wav");
  assert.match(await run("python3", "openai_shape.py", TEXT, file), /^[а-яәіңғүұқөһё ]+\n$/);
  await assertWav(file);
});

test("Python transcribes recordings as jobs, and a repeated program finds them", async () => {
  const printed = await run("python3", "jobs.py", recording);
  assert.match(printed, /recording\.wav: [А-ЯӘІҢҒҮҰҚӨҺЁ][^\n]{20,}\n$/);
  assert.equal(await run("python3", "jobs.py", recording), printed);
});

const hasWebsockets = spawnSync("python3", ["-c", "import websockets"]).status === 0;

test("Python transcribes samples as they arrive", {
  skip: hasWebsockets ? false : "python3-websockets is not installed",
}, async () => {
  const command = 'ffmpeg -v error -i "$1" -f s16le -ac 1 -ar 16000 - | python3 live.py';
  const printed = await run("sh", "-c", command, "sh", recording);
  assert.match(printed, /^[А-ЯӘІҢҒҮҰҚӨҺЁ][^\n]{20,}\n/);
});

test("ffmpeg pipes audio into live transcription", async () => {
  assert.match(await run("sh", "microphone.sh", "-i", recording), /^[а-яәіңғүұқөһё \n]{20,}$/);
});

test("PCM is transcribed with OpenAI's realtime events", async () => {
  const command = 'ffmpeg -v error -i "$1" -f s16le -ac 1 -ar 24000 - | node realtime.mjs';
  assert.match(await run("sh", "-c", command, "sh", recording), /^[а-яәіңғүұқөһё ]{20,}\n$/);
});

test("an agent of LiveKit's plugins answers what it hears", async () => {
  const file = join(folder, "answers.pcm");
  const command =
    'ffmpeg -v error -i "$1" -af apad=pad_dur=1 -f s16le -ac 1 -ar 16000 - | node agent.mjs "$2"';
  const heard = await run("sh", "-c", command, "sh", recording, file);
  assert.match(heard, /^[а-яәіңғүұқөһё \n]{20,}$/);
  const pcm = await readFile(file);
  // The agent's answer repeats what it heard.
  assert.ok(pcm.length > 2 * 24_000, `${pcm.length} bytes`);
});

test("a page transcribes its microphone, and its server keeps the key", async () => {
  const server = start("node", ["page-server.mjs"], { PORT: "0" });
  const ended = once(server, "close");
  const browser = await launchConsoleBrowser(recording);
  try {
    const [line] = (await once(createInterface(server.stdout!), "line")) as [string];
    const page = await browser.newPage();
    await page.goto(line.replace(/^open /, ""));
    assert.ok(!(await page.content()).includes(service.key));
    await page.click("#start");
    const final = await page.waitForSelector("#finals li", { timeout: PATIENCE_MS });
    assert.match((await final.textContent()) ?? "", /^[а-яәіңғүұқөһё ]+$/);
  } finally {
    await browser.close();
    server.kill();
    await ended;
  }
});

test("a page sends what the browser's recorder produces, and shows what was said", async () => {
  const server = start("node", ["page-server.mjs"], { PORT: "0" });
  const ended = once(server, "close");
  const browser = await launchConsoleBrowser(recording);
  try {
    const [line] = (await once(createInterface(server.stdout!), "line")) as [string];
    const page = await browser.newPage();
    await page.goto(`${line.replace(/^open /, "")}/recorder`);
    await page.click("#start");
    const isHeard = `document.querySelector("#finals").textContent.length > ${SPOKEN.length * HEARD_LENGTH}`;
    await page.waitForFunction(isHeard, null, { timeout: PATIENCE_MS });
    await page.click("#stop");
    await page.getByText(/^\d+(\.\d+)? s$/).waitFor({ timeout: PATIENCE_MS });
    const heard = (await page.locator("#finals li").allTextContents()).join(" ");
    const { characterErrorRate } = errorRates([{ reference: SPOKEN, hypothesis: heard }]);
    assert.ok(characterErrorRate < MAX_CHARACTER_ERROR_RATE, `${characterErrorRate} of "${heard}"`);
  } finally {
    await browser.close();
    server.kill();
    await ended;
  }
});

async function assertWav(file: string, leastBytes = 20_000): Promise<void> {
  const wav = await readFile(file);
  assert.equal(wav.toString("latin1", 0, 4), "RIFF");
  assert.ok(wav.length > leastBytes, `${wav.length} bytes`);
}

/** Runs an example to its end. Returns its output. */
async function run(program: string, ...args: string[]): Promise<string> {
  const child = start(program, args, {});
  const printed: Buffer[] = [];
  const failed: Buffer[] = [];
  child.stdout!.on("data", (bytes: Buffer) => printed.push(bytes));
  child.stderr!.on("data", (bytes: Buffer) => failed.push(bytes));
  const [code] = (await once(child, "close")) as [number | null];
  assert.equal(code, 0, `${Buffer.concat(failed)}${Buffer.concat(printed)}`);
  return Buffer.concat(printed).toString();
}

function start(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  return spawn(program, args, {
    cwd: EXAMPLES,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, DAUYS_URL: service.url, DAUYS_API_KEY: service.key, ...env },
  });
}
