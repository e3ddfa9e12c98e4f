// Issue 12, "From the attack", line 13: a crash while workers run says what it was, and nothing of "Napi::Error".
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isAlive } from "../../src/store/postgres/folder-lock.js";
import { freeLoopbackPort } from "../../src/store/postgres/loopback-port.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { TEST_KEY } from "../support/service-process.js";

const SELF = fileURLToPath(import.meta.url);
const TEXT = "Сәлем, әлем. Бүгін ауа райы жақсы болады. ".repeat(20);

/** Runs in a process of its own: the service as it starts, and then a mistake in its main thread. */
async function crashWhileSpeaking(): Promise<void> {
  await import("../../src/main.js");
  const url = `http://127.0.0.1:${process.env["PORT"]}`;
  const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
  await eventually("ready", async () => (await fetch(`${url}/ready`).catch(() => null))?.ok === true, 60_000);
  const body = JSON.stringify({ text: TEXT, nfe: 32 });
  const { body: frames } = await fetch(`${url}/v1/tts/stream`, { method: "POST", headers, body });
  // The first sentence is there, so the worker is at the second.
  await frames!.getReader().read();
  setImmediate(() => {
    throw new TypeError("a mistake of ours");
  });
}

if (process.argv[2] === "crash") await crashWhileSpeaking();
else
  test("a crash while a worker is inside of the runtime ends with 1 and its reason", async () => {
    const dataDir = await temporaryFolder();
    const child = spawn(process.execPath, [SELF, "crash"], {
      env: {
        ...process.env,
        HOST: "127.0.0.1",
        PORT: String(await freeLoopbackPort()),
        DATA_DIR: dataDir,
        DEV_API_KEY: TEST_KEY,
        LOG_LEVEL: "info",
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
    assert.doesNotMatch(said, /Napi::Error|terminate called/);
    const serverPid = Number(/"serverPid":(\d+)/.exec(said)?.[1]);
    assert.ok(serverPid > 1);
    await eventually("the private database is gone", () => !isAlive(serverPid));
  });
