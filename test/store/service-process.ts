// A process that opens the store as a service does, for tests that kill it or run next to it.
// Arguments: data folder. Prints "ready" and the pid of the private server; ends cleanly on SIGTERM.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/store/store.js";
import { SILENT } from "../support/silent-log.js";
import { privateStore } from "./support.js";

export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly serverPid: number;
}

/** Starts this file as a process and waits until its store is open. */
export async function startServiceProcess(dataDir: string): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = await Promise.race([
    once(child.stdout!, "data"),
    once(child, "exit").then(([code]) =>
      Promise.reject(new Error(`the service process exited with ${code}`)),
    ),
  ]);
  return { child, serverPid: Number(String(text).split(" ")[1]) };
}

async function serve(dataDir: string): Promise<void> {
  const store = await openStore(privateStore(dataDir), SILENT);
  await store.developmentKey();
  const awake = setInterval(() => {}, 1_000);
  process.once("SIGTERM", async () => {
    await store.close();
    clearInterval(awake);
  });
  const [serverPid] = (await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n");
  process.stdout.write(`ready ${serverPid}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2]!);
