import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { freePort } from "./free-port.js";
import { cpuSecondsOf, untilReady } from "./service-process.js";

const MAIN = fileURLToPath(new URL("../../src/main.js", import.meta.url));

/** A process with `ROLE=engine`. */
export interface EngineProcess {
  readonly child: ChildProcess;
  readonly operatorPort: number;
  /** Standard output and error of the process so far. */
  output(): string;
  cpuSeconds(): number;
  /** Sends SIGTERM; settles with the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL; settles when the process has ended. */
  kill(): Promise<void>;
}

/** Starts an engine node in a separate process; settles once it accepts sessions. */
export async function startEngineProcess(
  environment: Readonly<Record<string, string>>,
): Promise<EngineProcess> {
  const operatorPort = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...process.env,
      ...{ ROLE: "engine", LOG_LEVEL: "warn", LIVE_WORKERS: "1", OPERATOR_PORT: String(operatorPort) },
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const written: string[] = [];
  child.stdout.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  child.stderr.on("data", (bytes: Buffer) => written.push(bytes.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const output = () => written.join("");
  await untilReady(`http://127.0.0.1:${operatorPort}`, child, exited, output);
  return {
    child,
    operatorPort,
    output,
    cpuSeconds: () => cpuSecondsOf(child.pid!),
    stop: () => {
      child.kill("SIGTERM");
      return exited;
    },
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
