// Starts the compiled service with the running Node and tests each function once: synthesis, and its
// transcription as a file and live. Prints one line of JSON, and the service's output if it fails.
import { execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const SENTENCE = "Сәлеметсіз бе! Бүгін күн жылы.";
const READY_WITHIN_MS = 120_000;
const LOOK_EVERY_MS = 100;

const folder = mkdtempSync(join(tmpdir(), "dauys-try-"));
// A service started by root runs the database as another user, who needs access to the folder.
chmodSync(folder, 0o711);
const port = await freePort();
const operatorPort = await freePort();
const url = `http://127.0.0.1:${port}`;
const key = `sk-svc-${"0123456789abcdef".repeat(3)}`;
const settings = {
  ...{ HOST: "127.0.0.1", PORT: String(port), OPERATOR_PORT: String(operatorPort) },
  ...{ DATA_DIR: join(folder, "data"), DEV_API_KEY: key },
};
const startedAtMs = performance.now();
const service = spawn(process.execPath, [join(root, "dist/src/main.js")], {
  env: { ...process.env, ...settings },
  stdio: ["ignore", "pipe", "pipe"],
});
let output = "";
for (const stream of [service.stdout, service.stderr]) stream.on("data", (bytes) => (output += bytes));
const ended = new Promise((resolve) => service.once("exit", (code, signal) => resolve(code ?? signal)));
try {
  await untilReady();
  const readyMs = Math.round(performance.now() - startedAtMs);
  const wav = join(folder, "said.wav");
  await dauys("speak", SENTENCE, "-o", wav);
  const transcript = (await dauys("transcribe", wav)).trim();
  const heard = (await dauys("listen", wav)).trim();
  const metrics = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
  const hasNativeSearch = /^beam_search_native 1$/m.test(metrics);
  service.kill("SIGTERM");
  const exitCode = await ended;
  const front = /^Front: (.*)$/m.exec(output)?.[1] ?? "";
  const told = { node: process.version, front, readyMs, transcript, heard, hasNativeSearch, exitCode };
  console.log(JSON.stringify(told));
} catch (error) {
  service.kill("SIGTERM");
  console.error(output);
  throw error;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function dauys(...args) {
  const env = { ...process.env, DAUYS_URL: url, DAUYS_API_KEY: key };
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "bin/dauys.js"), ...args], {
    env,
  });
  return stdout;
}

async function untilReady() {
  const deadlineMs = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadlineMs) {
    if (service.exitCode !== null) throw new Error(`the service ended with ${service.exitCode}`);
    const answer = await fetch(`${url}/ready`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new Error(`the service was not ready within ${READY_WITHIN_MS} ms`);
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = server.address();
      server.close(() => resolve(free));
    });
  });
}
