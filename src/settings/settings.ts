import { availableParallelism } from "node:os";
import { CONCURRENCY_LIMITS } from "../../core/domain/usage/concurrency.js";
import { DEFAULT_TARIFFS, type UsageKind } from "../../core/domain/usage/tariff.js";
import { ConfigError } from "./config-error.js";
import { DEFAULT_DATA_DIR, DEFAULT_HOST, DEFAULT_PORT } from "./defaults.js";
import {
  API_KEY,
  BUS_SERVERS,
  CONTACT,
  CREDIT_PRICE,
  DEVICE_LIST,
  FLAG,
  FOLDER,
  HOST_NAME,
  HTTP_URL,
  kilobytes,
  MAIL_FROM,
  megabytes,
  NETWORKS,
  oneOf,
  orAuto,
  PEPPER,
  POSTGRES_URL,
  PROVIDER_LIST,
  SERVED_LIST,
  SHORT_NAME,
  SMTP_URL,
  seconds,
  TARIFF,
  wholeNumber,
} from "./rules.js";
import { optional, type Rule, readTree, type Setting, setting, settingsOf, type Values } from "./setting.js";

const PORT = wholeNumber(0, 65_535);
const THREADS = wholeNumber(1, Math.max(64, availableParallelism()));
const PER_ORGANIZATION = wholeNumber(0, 100_000);

/** Lists every setting, for the service, its tests, commands and documents. */
const TREE = {
  role: setting("ROLE", oneOf("all", "gateway", "engine"), {
    otherwise: "all",
    means:
      "what the process does: everything; `gateway`, everything except running models; `engine`, running models for " +
      "gateways ([several machines](fleet.md))",
  }),
  host: setting("HOST", HOST_NAME, { otherwise: DEFAULT_HOST, means: "address to listen on" }),
  port: setting("PORT", PORT, {
    otherwise: String(DEFAULT_PORT),
    means: "port to listen on; 0 picks a free one",
  }),
  serve: setting("SERVE", SERVED_LIST, {
    otherwise: "synthesis,transcription,live",
    means:
      "what this service serves: each part may have dedicated hosts on one database ([several services](sizing.md#several-services)); " +
      "all of them have the console, accounts and the catalog. With `ROLE=engine`, what it does for gateways",
  }),
  dataDir: setting("DATA_DIR", FOLDER, {
    otherwise: DEFAULT_DATA_DIR,
    means: "folder for all state: private PostgreSQL, development key, spooled audio, kept responses",
  }),
  /** Null for a private PostgreSQL in `dataDir`. */
  databaseUrl: orNone("DATABASE_URL", POSTGRES_URL, "your PostgreSQL instead of the private one"),
  devApiKey: orNone(
    "DEV_API_KEY",
    API_KEY,
    "development key to use instead of one created at the first start, or derived from `KEY_PEPPER`",
  ),
  keptAnswersBytes: setting("KEPT_ANSWERS_MB", megabytes(0, 1_000_000), {
    otherwise: "1024",
    means:
      "disk space for long responses to requests with an `Idempotency-Key`. An organization may use half. When the space " +
      "is full, or less than `DISK_FLOOR_MB` would remain free, the oldest response of the organization that uses the " +
      "most is evicted",
  }),
  spoolBytes: setting("SPOOL_MB", megabytes(1, 100_000_000), {
    otherwise: "4096",
    means: "disk space for uploads, fetched and decoded audio while they are processed",
  }),
  jobsAtOnce: setting("JOBS_AT_ONCE", wholeNumber(0, 64), {
    otherwise: "1",
    means:
      "[jobs](jobs.md) that this service runs at a time; 0 runs none, for a service that only accepts them",
  }),
  jobKeptMs: setting("JOB_RETENTION_H", wholeNumber(1, 8_760, 3_600_000), {
    otherwise: "24",
    means: "hours for which a finished job and its result are kept",
  }),
  jobStorageBytes: setting("JOBS_STORAGE_MB", megabytes(1, 100_000_000), {
    otherwise: "10240",
    means:
      "space in the database for the audio of waiting jobs, shared by all services; an organization may use half of it",
  }),
  jobsPerOrganization: setting("JOBS_PER_ORG", PER_ORGANIZATION, {
    otherwise: "20000",
    means: "jobs of one organization that may wait",
  }),
  diskFloorBytes: setting("DISK_FLOOR_MB", megabytes(0, 100_000_000), {
    otherwise: "256",
    means: "free disk space to leave in `DATA_DIR`, for the database; below it audio is rejected with 503",
  }),
  sentenceCacheBytes: setting("SENTENCE_CACHE_MB", megabytes(0, 100_000), {
    otherwise: "64",
    means:
      "memory for finished sentences, separate for each organization: a repeated sentence is not synthesized again, but " +
      "charged as usual; 0 keeps none",
  }),
  speechMemoryBytes: setting("SPEECH_MEMORY_MB", megabytes(1, 1_000_000), {
    otherwise: "1024",
    means:
      "memory for synthesized, unsent speech of all responses. An organization may use half of it (429); " +
      "requests that do not fit get 503, without a charge",
  }),
  /** Null for a pepper that is created once in `dataDir`. */
  keyPepper: optional("KEY_PEPPER", PEPPER, {
    absent: null,
    otherwise: "created once",
    means: "secret for key hashes",
  }),
  logLevel: setting("LOG_LEVEL", oneOf("fatal", "error", "warn", "info", "debug", "trace", "silent"), {
    otherwise: "info",
    means: "pino level, or `silent`",
  }),
  front: setting("FRONT", oneOf("auto", "uws", "node"), {
    otherwise: "auto",
    means: "`uws`, `node`, or the faster one that loads",
  }),
  frontThreads: setting("FRONT_THREADS", THREADS, {
    otherwise: "1",
    means:
      "threads that hold the connections; more than 1 needs Linux and `FRONT=uws`, and pays off beyond about 2,000 live sockets",
  }),
  /** Null for as many as the process's file descriptors allow. */
  maxConnections: optional("MAX_CONNECTIONS", wholeNumber(1, 10_000_000), {
    absent: null,
    otherwise: "by `ulimit -n`",
    means: "open connections, WebSockets included; more are rejected",
  }),
  /** Null for the shipped packages and those in `dataDir`. */
  modelsDir: optional("MODELS_DIR", FOLDER, {
    absent: null,
    otherwise: "`models` next to `package.json`, and in `DATA_DIR`",
    means: "folder of model packages, where `dauys models add` puts them",
  }),
  /** Null to decide by cores and memory. */
  liveWorkers: setting("LIVE_WORKERS", orAuto(THREADS), {
    otherwise: "auto",
    means: "worker threads for live transcription; `auto` by [cores and memory](sizing.md#workers)",
  }),
  fileWorkers: setting("FILE_WORKERS", orAuto(THREADS), {
    otherwise: "auto",
    means: "worker threads for transcription of files",
  }),
  synthesisWorkers: setting("SYNTHESIS_WORKERS", orAuto(THREADS), {
    otherwise: "auto",
    means: "worker threads for synthesis",
  }),
  synthesisRows: setting("SYNTHESIS_ROWS", orAuto(wholeNumber(1, 64)), {
    otherwise: "auto",
    means:
      "pieces of text in one run of the synthesizer; more pays off where batches are cheap, as on a GPU. `auto` reads " +
      "`device-tuning.json` in `DATA_DIR` ([GPUs](gpus.md#rows-by-device)), else 1",
  }),
  ortThreads: setting("ORT_THREADS", THREADS, {
    otherwise: "1",
    means: "threads inside one operator of one graph",
  }),
  /** Null to decide by the model and the cores. */
  liveThreads: setting("LIVE_THREADS", orAuto(THREADS), {
    otherwise: "auto",
    means:
      "the same for live workers; `auto`: `ORT_THREADS`, and for models that cannot stream " +
      "[their share of the cores](sizing.md#workers)",
  }),
  executionProviders: setting("EXECUTION_PROVIDERS", PROVIDER_LIST, {
    otherwise: "cpu",
    means:
      "providers to run the models, in the order they are tried: `cuda`, `webgpu`, `coreml`, `dml`, `cpu`. Without `cpu` " +
      "in the list the service does not start if none of the others works ([GPUs](gpus.md))",
  }),
  /** Null to use `executionProviders` for this engine. */
  liveExecutionProviders: providersOf("LIVE_EXECUTION_PROVIDERS", "live transcription"),
  fileExecutionProviders: providersOf("FILE_EXECUTION_PROVIDERS", "transcription of files"),
  synthesisExecutionProviders: providersOf("SYNTHESIS_EXECUTION_PROVIDERS", "synthesis"),
  deviceIds: setting("DEVICE_ID", DEVICE_LIST, {
    otherwise: "0",
    means:
      "device number for `cuda` and `dml`; several, such as `0,1`, are distributed over each engine's workers",
  }),
  modelPreload: setting("MODEL_PRELOAD", FLAG, {
    otherwise: "true",
    means:
      "load the default models at startup; with `false` the first request that needs one loads it, as for other models",
  }),
  modelIdleMs: setting("MODEL_IDLE_S", seconds(0, 1_000_000), {
    otherwise: "900",
    means: "seconds without work after which an engine releases its models' memory; 0 for never",
  }),
  drainMs: setting("DRAIN_S", seconds(0, 3_600), {
    otherwise: "30",
    means: "seconds for running work to finish after SIGTERM",
  }),
  tariffs: {
    synthesis: tariff("TARIFF_SYNTHESIS", "synthesis", "credits per character of synthesis"),
    file: tariff("TARIFF_FILE", "file", "credits per second of a transcribed file"),
    live: tariff("TARIFF_LIVE", "live", "credits per second of live audio"),
  },
  creditPrice: orNone(
    "CREDIT_PRICE",
    CREDIT_PRICE,
    "price of credits for the console to show: `1/25000 USD` is one dollar for 25,000 credits; without it the console " +
      "shows prices in credits only",
  ),
  operatorContact: orNone(
    "OPERATOR_CONTACT",
    CONTACT,
    "your e-mail or https address, shown in the console to users who need credits or a new password",
  ),
  smtpUrl: orNone(
    "SMTP_URL",
    SMTP_URL,
    "mail server for invitations, password reset links and low-balance warnings: `smtp://user:password@host:587` (STARTTLS) " +
      "or `smtps://…:465`; without it, users pass on the links themselves. Needs `MAIL_FROM` and `PUBLIC_URL`",
  ),
  mailFrom: orNone("MAIL_FROM", MAIL_FROM, "sender of mail: `Dauys <no-reply@example.org>`"),
  publicUrl: orNone("PUBLIC_URL", HTTP_URL, "address at which users reach the console, for links in mail"),
  lowBalanceCredits: setting("LOW_BALANCE_CREDITS", wholeNumber(0, 1_000_000_000_000), {
    otherwise: "2500",
    means: "owners get one mail when their organization's balance falls below this; 0 for never",
  }),
  concurrency: {
    paid: {
      synthesis: perOrganization("SYNTHESIS_PER_ORG", CONCURRENCY_LIMITS.paid.synthesis, "syntheses"),
      files: perOrganization("FILES_PER_ORG", CONCURRENCY_LIMITS.paid.files, "transcriptions of files"),
      live: perOrganization("LIVE_PER_ORG", CONCURRENCY_LIMITS.paid.live, "live sessions"),
    },
    free: {
      synthesis: perFree("FREE_SYNTHESIS_PER_ORG", CONCURRENCY_LIMITS.free.synthesis, "within 30 s"),
      files: perFree("FREE_FILES_PER_ORG", CONCURRENCY_LIMITS.free.files, "within 30 s"),
      live: perFree("FREE_LIVE_PER_ORG", CONCURRENCY_LIMITS.free.live, "within 5 minutes"),
    },
  },
  operatorPort: setting("OPERATOR_PORT", PORT, {
    otherwise: "0",
    means: "port for Prometheus metrics at `/metrics`, without authentication; 0 serves none",
  }),
  operatorHost: setting("OPERATOR_HOST", HOST_NAME, {
    otherwise: "127.0.0.1",
    means: "address for `OPERATOR_PORT`",
  }),
  otlpEndpoint: orNone(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    HTTP_URL,
    "OTLP/HTTP receiver to which the service sends a [trace](deployment.md#traces) of each request, at `/v1/traces`",
  ),
  busServers: orNone(
    "BUS_URL",
    BUS_SERVERS,
    "NATS servers of one cluster, separated by commas: `nats://host:4222` or `tls://…`; required by `ROLE=gateway` and `engine`",
  ),
  busTls: {
    caFile: orNone("BUS_TLS_CA", FOLDER, "CA certificates to verify the bus's servers, in PEM format"),
    certFile: orNone("BUS_TLS_CERT", FOLDER, "client certificate of this process for the bus, in PEM format"),
    keyFile: orNone("BUS_TLS_KEY", FOLDER, "private key of that certificate"),
  },
  cell: setting("CELL", SHORT_NAME, {
    otherwise: "main",
    means: "gateways and engines of the same cell work together; those of other cells on the bus are ignored",
  }),
  zone: setting("ZONE", SHORT_NAME, {
    otherwise: "main",
    means: "where the process runs: a gateway prefers engines of its zone",
  }),
  /** Number per gateway and model. */
  liveLanes: setting("LIVE_LANES", wholeNumber(1, 24), {
    otherwise: "4",
    means:
      "engine workers over which a gateway spreads its live sessions; it adds others while these are full",
  }),
  liveSessionsPerWorker: setting("LIVE_SESSIONS_PER_WORKER", wholeNumber(1, 100_000), {
    otherwise: "150",
    means: "live sessions that one worker of an engine process accepts",
  }),
  liveDecoders: setting("LIVE_DECODERS", wholeNumber(0, 10_000), {
    otherwise: "40",
    means:
      "live sessions that may send WebM, Ogg or Opus at the same time, each with a decoder process of 70 MB, two thirds of which is shared; an " +
      "organization may use half of them (429); when all are in use, sessions close with 1013; 0 rejects such audio",
  }),
  laneWindowBytes: setting("LANE_WINDOW_KB", kilobytes(128, 32_768), {
    otherwise: "1024",
    means: "unacknowledged audio that a gateway sends to an engine worker",
  }),
  engineLostMs: setting("ENGINE_LOST_MS", wholeNumber(600, 60_000), {
    otherwise: "1600",
    means:
      "milliseconds without a heartbeat after which an engine process counts as lost; heartbeats are 500 ms apart",
  }),
  urlFetchAllow: optional("URL_FETCH_ALLOW", NETWORKS, {
    absent: [],
    otherwise: "none",
    means: "non-public networks that `url=` may reach, in CIDR notation",
  }),
  trustedProxies: optional("TRUSTED_PROXIES", NETWORKS, {
    absent: [],
    otherwise: "none",
    means:
      "networks of your proxies, in CIDR notation: sign-in attempts are counted by the address in their `X-Forwarded-For`, " +
      "otherwise by the connection's address",
  }),
} as const;

/** The service's settings, read once at startup. */
export type Config = Values<typeof TREE>;

/** All settings, in the order of the documentation. */
export const SETTINGS: readonly Setting<unknown>[] = settingsOf(TREE);

/**
 * Reads and checks every setting. Empty variables count as unset.
 *
 * @throws {ConfigError} at the first setting that breaks its rule
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const config = readTree(TREE, environment);
  // Only the native front can share its port between threads.
  if (config.frontThreads > 1 && config.front === "node") {
    const rule = "must be 1 with FRONT=node, whose threads cannot share a port";
    throw new ConfigError(`${TREE.frontThreads.name} ${rule}, received "${config.frontThreads}"`);
  }
  requireBus(config);
  requireSender(config);
  return config;
}

/** Mail needs a sender and a base address for its links: an attacker could forge the `Host` of a request. */
function requireSender({ smtpUrl, mailFrom, publicUrl }: Config): void {
  if (smtpUrl === null) return;
  const missing = mailFrom === null ? TREE.mailFrom.name : publicUrl === null ? TREE.publicUrl.name : null;
  if (missing !== null)
    throw new ConfigError(`${missing} must be set with ${TREE.smtpUrl.name}, received none`);
}

/** Gateways and engines need a bus. A process that does everything does not. */
function requireBus({ role, busServers, busTls, keyPepper }: Config): void {
  const name = TREE.busServers.name;
  if (role === "all" && busServers !== null)
    throw new ConfigError(`${TREE.role.name} must be gateway or engine with ${name}, received "all"`);
  if (role !== "all" && busServers === null)
    throw new ConfigError(`${name} must be set with ${TREE.role.name}=${role}, received none`);
  // Gateways are replaceable and have separate data folders, so a pepper created there would not be shared.
  if (role === "gateway" && keyPepper === null)
    throw new ConfigError(`${TREE.keyPepper.name} must be set with ${name}, received none`);
  if ((busTls.certFile === null) !== (busTls.keyFile === null)) {
    const { certFile, keyFile } = TREE.busTls;
    throw new ConfigError(`${certFile.name} and ${keyFile.name} must be set together, received one`);
  }
}

function orNone<T>(name: string, rule: Rule<T>, means: string) {
  return optional(name, rule, { absent: null, otherwise: "none", means });
}

function tariff(name: string, kind: UsageKind, means: string) {
  const { credits, perUnits } = DEFAULT_TARIFFS[kind];
  return setting(name, TARIFF, { otherwise: `${credits}/${perUnits}`, means });
}

function providersOf(name: string, what: string) {
  return optional(name, PROVIDER_LIST, {
    absent: null,
    otherwise: "as `EXECUTION_PROVIDERS`",
    means: `the same for ${what} only`,
  });
}

function perOrganization(name: string, otherwise: number, what: string) {
  return setting(name, PER_ORGANIZATION, {
    otherwise: String(otherwise),
    means: `${what} that one organization may run at the same time`,
  });
}

function perFree(name: string, otherwise: number, soon: string) {
  return setting(name, PER_ORGANIZATION, {
    otherwise: String(otherwise),
    means: `the same for an organization on the free grant; a first payment takes effect ${soon}`,
  });
}
