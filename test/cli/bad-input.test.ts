import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { writeWav } from "../../core/domain/audio/wav.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type ServiceStub, STUB_KEY, startStub } from "./service-stub.js";
import { dauys } from "./support.js";

interface Held {
  readonly path: string;
  readonly answer: () => void;
}

const PROGRAM = fileURLToPath(new URL("../../../bin/dauys.js", import.meta.url));
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** Exit codes that a shell reports for SIGPIPE and SIGINT. */
const READER_LEFT = 141;
const INTERRUPTED = 130;

let stub: ServiceStub;
let folder: string;
let env: Record<string, string>;
const wav = Buffer.from(writeWav(new Int16Array(24_000), 24_000));
/** Receives a request and the function that answers it; null to answer immediately. */
let hold: ((request: Held) => void) | null = null;
let sessions = 0;

before(async () => {
  folder = await temporaryFolder();
  stub = await startStub(
    ({ path }, response) => {
      const answer = () => {
        response.writeHead(200, { "x-svc-chars": "5", "x-svc-credits": "2" });
        if (path.startsWith("/v1/transcribe")) response.end(JSON.stringify({ text: "ж".repeat(200_000) }));
        else if (path.startsWith("/v1/tts/stream")) response.end(Buffer.concat([lengthOf(wav), wav]));
        else response.end(wav);
      };
      if (hold === null) answer();
      else hold({ path, answer });
    },
    (socket) => {
      sessions++;
      socket.close(1011);
    },
  );
  env = { DAUYS_URL: stub.url, DAUYS_API_KEY: STUB_KEY, TMPDIR: join(folder, "tmp") };
  await mkdir(join(folder, "tmp"));
  // A symbolic link: a program that deletes a file it could not write must not delete the device.
  await symlink("/dev/full", join(folder, "full"));
  await mkdir(join(folder, "folder"));
  await writeFile(join(folder, "empty.wav"), "");
  await writeFile(join(folder, "empty.pcm"), "");
  await writeFile(join(folder, "text.txt"), "no sound");
  await writeFile(join(folder, "other.wav"), "an older file");
});
after(() => stub.close());
beforeEach(() => {
  stub.requests.length = 0;
  sessions = 0;
  hold = null;
});

const at = (name: string) => join(folder, name);

describe("invalid arguments fail before any request", () => {
  const say = (output: string) => ["speak", "сәлем", "-o", output];
  for (const [name, args, code, rule] of [
    ["a missing folder", () => say(at("nowhere/x.wav")), 1, /no such folder: .*nowhere$/],
    ["a folder instead of a file", () => say(at("folder")), 1, /cannot write .*folder: it is a folder$/],
    ["a file instead of a folder", () => say(at("text.txt/x.wav")), 1, /part of the path is not a folder$/],
    ["a name that is too long", () => say(at(`${"n".repeat(300)}.wav`)), 1, /the name is too long$/],
    [
      "a file system that rejects files",
      () => say("/proc/x.wav"),
      1,
      /^dauys: cannot write \/proc\/x\.wav: /,
    ],
    [
      "an audio extension other than WAV",
      () => say(at("e.mp3")),
      2,
      /-o must name a \.wav file, received ".*e\.mp3"; use -o .*e\.wav, then `ffmpeg/,
    ],
    ["the same in upper case", () => say(at("e.OPUS")), 2, /-o must name a \.wav file, received ".*e\.OPUS"/],
    ["no output", () => ["speak", "сәлем"], 2, /-o FILE is missing/],
    ["an output without a name", () => ["speak", "сәлем", "-o"], 2, /--output needs a value/],
    ["an unknown option", () => ["speak", "x", "--colour"], 2, /unknown option "--colour";/],
    ["an invalid number", () => [...say(at("x.wav")), "--seed", "one"], 2, /--seed must be a number/],
    ["two texts", () => ["speak", "a", "b", "-o", at("x.wav")], 2, /quote text that contains spaces/],
    [
      "an invalid address",
      () => [...say(at("x.wav")), "--url", "ftp://x"],
      2,
      /--url must be an http or https URL, received "ftp:/,
    ],
    ["a key with a line break", () => [...say(at("x.wav")), "--key", "sk\nsvc"], 2, /printable ASCII/],
    [
      "a folder to transcribe",
      () => ["transcribe", at("folder")],
      1,
      /cannot read .*folder: no recordings found/,
    ],
    ["a missing file to transcribe", () => ["transcribe", at("none.wav")], 1, /no such file$/],
    [
      "a missing file to stream",
      () => ["listen", at("none.wav")],
      1,
      /cannot read .*none.wav: no such file or folder$/,
    ],
    ["a folder to stream", () => ["listen", at("folder")], 1, /cannot read .*: it is a folder$/],
    ["an empty WAV to stream", () => ["listen", at("empty.wav")], 1, /: the file is empty$/],
    ["empty samples to stream", () => ["listen", at("empty.pcm")], 1, /: the file is empty$/],
    ["a text to stream", () => ["listen", at("text.txt")], 1, /expected a WAV file, or raw/],
    ["no file", () => ["transcribe"], 2, /FILE is missing/],
    ["an unknown command", () => ["sing"], 2, /unknown command "sing"/],
  ] as const) {
    test(name, async () => {
      const result = await dauysInTurn(args(), { env });
      const [first = ""] = result.stderr.split("\n");
      assert.equal(result.code, code, result.stderr);
      assert.match(first, rule);
      assert.match(first, /^dauys: /);
      assert.doesNotMatch(result.stderr, /\n\s+at |ENOENT|EISDIR|node:/);
      assert.deepEqual([result.stdout, stub.requests.length, sessions], ["", 0, 0]);
    });
  }

  test("invalid arguments leave no files", async () => {
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes("part") || name === "x.wav"),
      [],
    );
    assert.deepEqual(await readdir(at("folder")), []);
  });
});

describe("charged audio is never lost", () => {
  const kept = async (stderr: string): Promise<Buffer> => {
    const path = /the sound was saved to (\S+)\n$/.exec(stderr)?.[1];
    assert.ok(path?.startsWith(env["TMPDIR"]!), stderr);
    return readFile(path!);
  };

  test("on a full disk it is saved to the temporary folder", async () => {
    for (const more of [[], ["--stream"]]) {
      const { code, stderr } = await dauys(["speak", "сәлем", "-o", at("full"), ...more], { env });
      assert.equal(code, 1);
      assert.match(stderr, /^dauys: cannot write .*full: no space left on the device; /);
      assert.deepEqual(await kept(stderr), wav);
    }
  });

  test("it is also saved with a full standard output", async () => {
    const { code, stderr } = await inShell('"$@" > /dev/full', ["speak", "сәлем", "-o", "-", "--stream"]);
    assert.equal(code, 1);
    assert.deepEqual(await kept(stderr), wav);
  });

  test("it is also saved if the folder was deleted meanwhile", async () => {
    await mkdir(at("leaving"));
    const request = nextRequest();
    const child = start(["speak", "сәлем", "-o", at("leaving/x.wav")]);
    const stderr = textOf(child.stderr!);
    const { path, answer } = await request;
    await rm(at("leaving"), { recursive: true });
    answer();
    const [code] = await once(child, "close");
    assert.deepEqual([code, path], [1, "/v1/tts"]);
    assert.deepEqual(await kept(stderr()), wav);
  });

  test("an existing file stays unchanged until the audio is complete", async () => {
    const request = nextRequest();
    const child = start(["speak", "сәлем", "-o", at("other.wav")]);
    await request;
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    assert.equal(code, INTERRUPTED);
    assert.equal(String(await readFile(at("other.wav"))), "an older file");
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.includes("part")),
      [],
    );
    hold = null;
    assert.equal((await dauysInTurn(["speak", "сәлем", "-o", at("other.wav")], { env })).code, 0);
    assert.deepEqual(await readFile(at("other.wav")), wav);
  });

  test("--json reports the cost", async () => {
    const { stdout } = await dauysInTurn(["speak", "сәлем", "-o", at("said.wav"), "--json"], { env });
    assert.equal(JSON.parse(stdout).credits, 2);
  });
});

describe("standard streams that are closed or full", () => {
  test("a closed pipe ends the command silently", async () => {
    for (const args of [["transcribe", at("text.txt")], ["speak", "сәлем", "-o", "-"], ["--help"]]) {
      const { code, stderr } = await inShell('{ "$@"; echo "code $?" >&2; } | true', args);
      assert.equal(code, 0);
      // Little may have been written before the reader exited.
      assert.match(stderr, new RegExp(`^code (0|${READER_LEFT})\n$`), args.join(" "));
    }
    const { stderr } = await inShell('{ "$@"; echo "code $?" >&2; } | head -c 10 > /dev/null', [
      "transcribe",
      at("text.txt"),
    ]);
    assert.equal(stderr, `code ${READER_LEFT}\n`);
  });

  test("reports a full output in one line", async () => {
    const { code, stderr } = await inShell('"$@" > /dev/full', ["transcribe", at("text.txt")]);
    assert.equal(code, 1);
    assert.equal(stderr, "dauys: cannot write to standard output: no space left on the device\n");
  });

  test("closed streams change nothing", async () => {
    for (const script of ['"$@" >&-', '"$@" 2>&-', '"$@" <&-', '"$@" 2>/dev/full']) {
      const { code, stderr } = await inShell(script, ["transcribe", at("none.wav")]);
      assert.equal(code, 1, script);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
  });
});

test("transcribes a pipe to its end", async () => {
  execFileSync("mkfifo", [at("pipe")]);
  const { code } = await inShell(`timeout 60 cat "${at("text.txt")}" > "${at("pipe")}" & "$@" > /dev/null`, [
    "transcribe",
    at("pipe"),
  ]);
  assert.equal(code, 0);
  assert.equal(String(stub.requests[0]?.body), "no sound");
});

/** Runs `script` in a shell, with the command line as its arguments. */
async function inShell(script: string, args: readonly string[]) {
  const command = ["-c", script, "sh", process.execPath, PROGRAM, ...args];
  const child = spawn("sh", command, { env: { PATH: process.env["PATH"] ?? "", ...env }, cwd: ROOT });
  const stderr = textOf(child.stderr);
  child.stdout.resume();
  child.stdin.on("error", () => {}).end();
  const [code] = (await once(child, "close")) as [number];
  return { code, stderr: stderr() };
}

function start(args: readonly string[]): ChildProcess {
  const options = { env: { PATH: process.env["PATH"] ?? "", ...env } };
  return spawn(process.execPath, [PROGRAM, ...args], options);
}

/** Returns the next request, which waits until it is answered. */
function nextRequest(): Promise<Held> {
  return new Promise((resolve) => {
    hold = resolve;
  });
}

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return () => text;
}

function lengthOf(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return length;
}
