import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceStub, STUB_KEY, type StubRequest, startStub } from "./service-stub.js";
import { dauys } from "./support.js";

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
const INTERRUPTED = 130;

let stub: ServiceStub;
let folder: string;
let env: Record<string, string>;
/** Answers transcription requests. */
let transcribe: (request: StubRequest, response: ServerResponse) => void;

const answer = ({ body }: StubRequest, response: ServerResponse) => {
  const words = [{ word: String(body), start: 0, end: 1 }];
  response.end(JSON.stringify({ text: String(body), words, audio_seconds: 2, credits_charged: 5 }));
};
const requests = () => stub.requests.filter(({ path }) => path.startsWith("/v1/transcribe"));

before(async () => {
  stub = await startStub((question, response) => {
    if (question.path === "/health") response.end('{"status":"ok","models":[]}');
    else transcribe(question, response);
  });
});
after(() => stub.close());
beforeEach(async () => {
  stub.requests.length = 0;
  transcribe = answer;
  folder = await temporaryFolder();
  env = { DAUYS_URL: stub.url, DAUYS_API_KEY: STUB_KEY, TMPDIR: folder };
});

/** Creates recordings by name; the text of each is its content. */
async function recordings(names: readonly string[]): Promise<readonly string[]> {
  const paths = names.map((name) => join(folder, name));
  for (const path of paths) {
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, path.split("/").at(-1)!);
  }
  return paths;
}

test("recordings that differ only in extension get separate results next to them", async () => {
  const paths = await recordings(["a.mp3", "a.wav", "-b.ogg"]);
  const { code, stdout, stderr } = await dauys(["transcribe", ...paths], { env });
  assert.equal(code, 0, stderr);
  assert.deepEqual(stdout.trim().split("\n").sort(), paths.map((path) => `${path}.txt`).sort());
  for (const path of paths)
    assert.equal(await readFile(`${path}.txt`, "utf8"), `${path.split("/").at(-1)}\n`);
  assert.match(stderr, /^3 recordings, 0\.0 MB, 2 at a time; Ctrl-C stops and keeps finished results\n/);
  assert.match(stderr, /3 transcribed \(6 s of audio, 15 credits\)\n$/);
  assert.equal(new Set(requests().map(({ headers }) => headers["idempotency-key"])).size, 3);
});

test("recordings that would write the same file are rejected before anything is charged", async () => {
  const [one, other] = await recordings(["x/a.wav", "y/a.wav"]);
  const out = join(folder, "out");
  const { code, stderr } = await dauysInTurn(["transcribe", one!, other!, "-o", out], { env });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /out\/a\.wav\.txt for both .*x\/a\.wav and .*y\/a\.wav; transcribe them into separate folders/,
  );
  assert.deepEqual([stub.requests.length, (await readdir(folder)).includes("out")], [0, false]);
});

test("Ctrl-C keeps and reports finished results, and leaves no partial file", async () => {
  const paths = await recordings(["a.wav", "b.wav", "c.wav"]);
  const second = new Promise<void>((isRequested) => {
    transcribe = (question, response) =>
      requests().length === 1 ? answer(question, response) : isRequested();
  });
  const child = spawn(process.execPath, [PROGRAM, "transcribe", ...paths, "--parallel", "1"], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdout.resume();
  await second;
  child.kill("SIGINT");
  assert.deepEqual(await once(child, "close"), [INTERRUPTED, null]);
  assert.match(
    stderr,
    /1 transcribed \(.*\), 2 not done \(run the same command to continue\)\ndauys: interrupted\n$/,
  );
  assert.deepEqual((await readdir(folder)).sort(), ["a.wav", "a.wav.txt", "b.wav", "c.wav"]);
  transcribe = answer;
  const rest = await dauysInTurn(["transcribe", ...paths], { env });
  assert.match(
    rest.stderr,
    /2 transcribed \(.*\), 1 skipped because their results are current \(--again repeats them\)\n$/,
  );
  const keyOf = (text: string) =>
    requests()
      .filter(({ body }) => String(body) === text)
      .map(({ headers }) => headers["idempotency-key"]);
  const [before, later] = keyOf("b.wav");
  assert.equal(later, before, "what was cut off is the same work");
});

test("a closed pipe ends the work without leaving a partial file", async () => {
  const paths = await recordings(["a.wav", "b.wav", "c.wav"]);
  let firstAnswer = () => {};
  transcribe = (question, response) => {
    // The second is being transcribed when the path of the first is written to a closed pipe.
    if (requests().length === 1) firstAnswer = () => answer(question, response);
    if (requests().length === 2) firstAnswer();
  };
  // Writes until the pipe has no reader, then runs the command.
  const line = '{ trap "" PIPE; while echo 2>&-; do :; done; "$@"; echo "code $?" >&2; } | true';
  const child = spawn("sh", ["-c", line, "sh", process.execPath, PROGRAM, "transcribe", ...paths], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await once(child, "close");
  assert.match(stderr, /code 141\n$/);
  // Two are sent together, and either one may arrive first.
  const texts = (await readdir(folder)).filter((name) => name.endsWith(".txt"));
  assert.match(texts.join(), /^[ab]\.wav\.txt$/);
});

test("without credits, no further recording is tried", async () => {
  const paths = await recordings(["a.wav", "b.wav", "c.wav"]);
  transcribe = (_, response) => {
    response
      .writeHead(429, { "x-svc-error": "out_of_credits", "x-should-retry": "false" })
      .end('{"detail":"needs 5 credits, 0 left"}');
  };
  const { code, stdout, stderr } = await dauysInTurn(["transcribe", ...paths, "--parallel", "1", "--json"], {
    env,
  });
  assert.equal(code, 1);
  assert.equal(requests().length, 1);
  assert.match(stderr, /failed: .*a\.wav: needs 5 credits, 0 left \(HTTP 429\)\n/);
  const { failed, not_tried } = JSON.parse(stdout.trim().split("\n").at(-1)!);
  assert.deepEqual([failed, not_tried], [1, 2]);
  assert.match(stderr, /dauys: 3 of 3 recordings were not transcribed\n$/);
});

test("changed recordings are transcribed again", async () => {
  const [path] = await recordings(["жаңа/a.wav"]);
  const run = () => dauysInTurn(["transcribe", join(folder, "жаңа")], { env });
  assert.equal((await run()).code, 0);
  assert.match((await run()).stderr, /^0 transcribed .*1 skipped/);
  // Do what editors do when they save: replace the file with one that is newer than the result.
  await writeFile(join(folder, "new"), "changed");
  // Use a second, because file system times are coarse and all of this may happen within one tick.
  const later = Date.now() / 1_000 + 1;
  await utimes(join(folder, "new"), later, later);
  await rename(join(folder, "new"), path!);
  assert.match((await run()).stderr, /1 transcribed/);
  assert.equal(await readFile(`${path}.txt`, "utf8"), "changed\n");
});

test("conflicting formats and destinations are rejected before any request", async () => {
  const [path] = await recordings(["a.wav"]);
  await mkdir(join(folder, "empty"));
  for (const [args, rule] of [
    [[path!, "--srt", "--vtt"], /standard output can hold only one format; choose --srt, --vtt or --json/],
    [[path!, "--srt", "--json", "-o", join(folder, "x.srt")], /x\.srt can hold only one format/],
    [
      [path!, "--srt", "-o", join(folder, "x.vtt")],
      /--srt does not match the extension of -o, received ".*x\.vtt"/,
    ],
    [[path!, path!, "-o", path!], /-o must be a folder for several recordings, received ".*a\.wav"/],
    [[path!, path!, "-o", "-"], /-o must be a folder for several recordings, received "-"/],
    [[path!, "-"], /"-" \(standard input\) cannot be combined/],
    [["-", "-o", folder], /-o must be a file for standard input/],
    [[path!, path!, "--parallel", "0"], /--parallel must be a whole number from 1 to 16, received "0"/],
  ] as const) {
    const { code, stdout, stderr } = await dauysInTurn(["transcribe", ...args], { env });
    assert.deepEqual([code, stdout, stub.requests.length], [2, "", 0], stderr);
    assert.match(stderr.split("\n")[0]!, rule);
  }
  const empty = await dauysInTurn(["transcribe", join(folder, "empty")], { env });
  assert.equal(empty.code, 1);
  assert.match(empty.stderr, /cannot read .*empty: no recordings found \(looked for \.wav, \.mp3/);
});

test("results of URLs are named after the URLs", async () => {
  const urls = ["https://example.org/%D0%B0%20b.mp3?x=1", "https://example.org/"];
  const out = join(folder, "out");
  const { code, stderr } = await dauysInTurn(["transcribe", ...urls, "--vtt", "-o", out], { env });
  assert.equal(code, 0, stderr);
  assert.deepEqual((await readdir(out)).sort(), ["example.org.vtt", "а b.mp3.vtt"]);
});
