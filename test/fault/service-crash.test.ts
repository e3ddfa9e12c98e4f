// A crash while workers run used to end in "Napi::Error" instead of its cause.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../../bench/support/free-port.js";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { isAlive } from "../../src/store/postgres/folder-lock.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { TEST_KEY } from "../support/service-process.js";

const SELF = fileURLToPath(import.meta.url);
const TEXT = "Сәлем, әлем. Бүгін ауа райы жақсы болады. ".repeat(20);

/**
 * Starts the service in a separate process. Settles once the service reports that it has started, because
 * with a single thread it responds even earlier.
 */
async function runService(): Promise<string> {
  const write = process.stdout.write.bind(process.stdout) as typeof process.stdout.write;
  let isStarted = false;
  process.stdout.write = ((...said: Parameters<typeof write>) => {
    // The log is JSON; the text printed for people is not.
    isStarted ||= !String(said[0]).startsWith("{");
    return write(...said);
  }) as typeof write;
  await import("../../src/main.js");
  await eventually("started", () => isStarted, 300_000);
  return `http://127.0.0.1:${process.env["PORT"]}`;
}

/** Throws an error in the main thread. */
function crash(): void {
  setImmediate(() => {
    throw new TypeError("a mistake of ours");
  });
}

async function crashWhileSpeaking(): Promise<void> {
  const url = await runService();
  const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({ text: TEXT, nfe: 32 });
  const { body: frames } = await fetch(`${url}/v1/tts/stream`, { method: "POST", headers, body });
  // The first sentence has arrived, so the worker is on the second.
  await frames!.getReader().read();
  crash();
}

/** Opens enough connections that each of the two front threads has some, and crashes. */
async function crashWhileConnected(): Promise<void> {
  await runService();
  const sockets = Array.from({ length: 24 }, () => connect(Number(process.env["PORT"]), "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  crash();
}

const CRASHES = { speaking: crashWhileSpeaking, connected: crashWhileConnected };

async function assertCrash(
  kind: keyof typeof CRASHES,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const dataDir = await temporaryFolder();
  const child = spawn(process.execPath, [SELF, kind], {
    env: {
      ...process.env,
      HOST: "127.0.0.1",
      PORT: String(await freePort()),
      DATA_DIR: dataDir,
      DEV_API_KEY: TEST_KEY,
      LOG_LEVEL: "info",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  assert.deepEqual([code, signal], [1, null], said);
  assert.match(said, /dauys: uncaught exception: TypeError: a mistake of ours/);
  assert.doesNotMatch(said, /Napi::Error|terminate called|open handles/);
  const serverPid = Number(/"serverPid":(\d+)/.exec(said)?.[1]);
  assert.ok(serverPid > 1);
  await eventually("the private database is gone", () => !isAlive(serverPid));
}

const kind = process.argv[2];
if (kind === "speaking" || kind === "connected") await CRASHES[kind]();
else
  describe("after a crash the process exits with 1 and logs the reason", { concurrency: true }, () => {
    test("while a worker is inside the runtime", () => assertCrash("speaking", {}));

    const skip = typeof loadUwsBinding() === "string" && "the native front does not load here";
    test("while front threads have connections", { skip }, () =>
      assertCrash("connected", { FRONT: "uws", FRONT_THREADS: "2", MODEL_PRELOAD: "false" }),
    );
  });
