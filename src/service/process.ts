import { join } from "node:path";
import { SERVED_PARTS, type ServedPart } from "../../core/domain/served.js";
import { createLog } from "../../core/observe/log.js";
import { SHIPPED_IDS } from "../models/defaults.js";
import { reachableUrl } from "../settings/address.js";
import { ConfigError } from "../settings/config-error.js";
import { type Config, readConfig } from "../settings/settings.js";
import { DEVELOPMENT_KEY_FILE } from "../store/development-key.js";
import { guardAgainstDriver } from "../store/postgres/driver-faults.js";
import { type Service, type ServiceOptions, type ServiceParts, startService } from "./compose.js";

const CRASH_WITHIN_MS = 5_000;

/** Everything that runs in a process, whatever its role. */
export type Program = Pick<Service, "port" | "lost" | "endWorkers" | "noteDriverFault" | "stop"> & {
  /** The start message. */
  readonly banner: string;
};

export interface ProcessParts extends ServiceParts {
  /** Called for `ROLE=engine`. */
  readonly startEngineNode?: (options: ServiceOptions) => Promise<Program>;
}

/**
 * Runs the service as this process: reads the environment, starts the supervision tree, and stops it on
 * SIGTERM or SIGINT. A failed start is reported on standard error, with exit code 1.
 */
export function runService(parts: ProcessParts = {}): void {
  run(parts).catch((error: unknown) => {
    // Our own errors need only their message. Other errors are bugs, and need a stack trace.
    const isOurs = !(error instanceof TypeError || error instanceof RangeError);
    const reason = error instanceof Error ? (isOurs ? error.message : error.stack) : String(error);
    process.stderr.write(`dauys: cannot start: ${reason}\n`);
    process.exitCode = 1;
  });
}

async function run({ startEngineNode, ...parts }: ProcessParts): Promise<void> {
  const startedAtMs = performance.now();
  // Only this user may read audio, responses, secrets and the database.
  process.umask(0o077);
  const config = readConfig(process.env);
  const log = createLog({ level: config.logLevel });
  let started: Program | null = null;
  guardAgainstDriver({ log, onFault: () => started?.noteDriverFault() });
  let isCrashing = false;
  process.on("uncaughtException", (error) => {
    // Further exceptions during the crash are ignored.
    if (isCrashing) return;
    isCrashing = true;
    log.fatal({ err: error }, "uncaught exception");
    process.stderr.write(`dauys: uncaught exception: ${error instanceof Error ? error.stack : error}\n`);
    void endAfterCrash(started);
  });
  const starting = start({ config, log, ...parts }, startEngineNode);
  const stop = async (reason: string, exitCode: number) => {
    log.info({ reason }, "stopping");
    process.exitCode = exitCode;
    // If a signal arrives during startup, let startup complete first.
    await (await starting).stop();
    log.info("stopped");
  };
  let hasSignal = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (hasSignal) return;
      hasSignal = true;
      // `runService` reports a failed start.
      stop(signal, 0).catch(() => undefined);
    });
  }
  const service = await starting;
  started = service;
  void service.lost.then((error) => {
    log.fatal({ err: error }, "the service cannot continue");
    return stop("lost", 1);
  });
  const startMs = Math.round(performance.now() - startedAtMs);
  log.info({ host: config.host, port: service.port, startMs }, "ready");
  if (!hasSignal && log.isLevelEnabled("info")) process.stdout.write(service.banner);
}

async function start(
  options: ServiceOptions,
  startEngineNode: ProcessParts["startEngineNode"],
): Promise<Program> {
  if (options.config.role !== "engine") {
    const service = await startService(options);
    return { ...service, banner: banner(options.config, service) };
  }
  if (startEngineNode === undefined) throw new ConfigError("ROLE must not be engine in this program");
  return startEngineNode(options);
}

/**
 * Ends the process with exit code 1, but ends workers and front threads first. If a thread is inside the
 * runtime or has open connections when the process exits, it aborts the process, which hides the reason and
 * dumps core. If a thread does not end in time, SIGKILL ends the process.
 */
async function endAfterCrash(service: Program | null): Promise<void> {
  const isEnded = service === null || (await service.endWorkers(CRASH_WITHIN_MS).catch(() => false));
  if (isEnded) process.exit(1);
  process.kill(process.pid, "SIGKILL");
}

/** Renders the start message: addresses, and at the first start the key and example commands. */
function banner({ host, dataDir, devApiKey, serve }: Config, service: Service): string {
  const address = reachableUrl(host, service.port);
  const keyFile = devApiKey === null ? join(dataDir, DEVELOPMENT_KEY_FILE) : "DEV_API_KEY";
  return `
Dauys listens on ${address}
Development key: ${service.isFirstStart ? service.developmentKey : `in ${keyFile}`}
Console: ${address}/console
Front: ${service.frontNote}
Workers: ${service.workerNote}
${limits(service.modelNotes)}${service.isFirstStart ? firstCommands(address, service.developmentKey, serve) : ""}
`;
}

/** Shown with the bundled recogniser. */
const BETTER_WEIGHTS =
  "Understand people: npx dauys models add gigaam-multilingual && npx dauys models use gigaam-multilingual\n";

/** Renders the first sentence of each model's limits, and what to do about them. */
function limits(notes: ReadonlyMap<string, string>): string {
  const lines = [...notes].map(([name, text]) => `${name}: ${/^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text}`);
  const better = notes.has(SHIPPED_IDS.transcription) ? BETTER_WEIGHTS : "";
  return lines.length === 0 ? "" : `Limits: ${lines.join(" ")} More: docs/models.md\n${better}`;
}

function firstCommands(address: string, developmentKey: string, serve: readonly ServedPart[]): string {
  const key = `Authorization: Bearer ${developmentKey}`;
  const commands: Readonly<Record<ServedPart, string>> = {
    synthesis: `Speak:
  curl -s ${address}/v1/tts -H "${key}" -H "Content-Type: application/json" \\
    -d '{"text":"Сәлеметсіз бе! Бұл Дауыс қызметі."}' -o salem.wav
`,
    transcription: `Transcribe:
  curl -s "${address}/v1/transcribe?timestamps=true" -H "${key}" \\
    -H "Content-Type: application/octet-stream" --data-binary @salem.wav
`,
    live: `Listen:
  npx dauys listen salem.wav --url ${address}
`,
  };
  return `\n${SERVED_PARTS.filter((part) => serve.includes(part))
    .map((part) => commands[part])
    .join("")}`;
}
