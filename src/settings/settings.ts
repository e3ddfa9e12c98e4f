import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  CONCURRENCY_LIMITS,
  type ConcurrencyLimits,
  type OrganizationTier,
} from "../domain/usage/concurrency.js";
import { DEFAULT_TARIFFS, type Tariff, type Tariffs } from "../domain/usage/tariff.js";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const FRONTS = ["auto", "uws", "node"] as const;
const KEY_PATTERN = /^sk-svc-[0-9a-f]{48}$/;
/** From `dist/src/settings/settings.js` to the folder that holds `package.json`. */
const PACKAGE_ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The service's settings, read once at start; nothing reads the environment after that. */
export interface Config {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  /** Null means a private PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | null;
  readonly devApiKey: string | null;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  readonly front: (typeof FRONTS)[number];
  /** Threads that hold the sockets; 1 is the main thread itself. */
  readonly frontThreads: number;
  /** Connections at once, WebSockets included; null takes as many as the process's descriptors allow. */
  readonly maxConnections: number | null;
  /** Absolute. */
  readonly modelsDir: string;
  readonly fileWorkers: number;
  readonly liveWorkers: number;
  readonly synthesisWorkers: number;
  /** Pieces that may share one run of a synthesis worker's model. */
  readonly synthesisRows: number;
  /** Threads inside one operator of one graph. */
  readonly ortThreads: number;
  /** Whether models are loaded at start, or by the first request that needs them. */
  readonly modelPreload: boolean;
  /** An engine without work for this long gives its models' memory back; 0 means never. */
  readonly modelIdleMs: number;
  /** How long running work may go on after SIGTERM. */
  readonly drainMs: number;
  readonly operatorHost: string;
  /** Where `/metrics` is served; 0 means nowhere. */
  readonly operatorPort: number;
  /** What one organization may have running at once, by its tier. */
  readonly concurrency: Readonly<Record<OrganizationTier, ConcurrencyLimits>>;
  /** Null means a pepper made once in `dataDir`. */
  readonly keyPepper: string | null;
  /** Disk space for long answers that may be asked for again under their idempotency key. */
  readonly keptAnswersBytes: number;
  /** Disk space for audio while it is worked on. */
  readonly spoolBytes: number;
  /** Free space of the disk of `dataDir` below which no audio and no answers are written there. */
  readonly diskFloorBytes: number;
  /** Memory for finished sentences that may be asked for again; 0 keeps none. */
  readonly sentenceCacheBytes: number;
  /** Memory for speech that is made and not yet sent. */
  readonly speechMemoryBytes: number;
  /** Prices of use, as fractions of whole numbers. */
  readonly tariffs: Tariffs;
  /** Networks that `url=` may reach although they are not globally routable, in CIDR notation. */
  readonly urlFetchAllow: readonly string[];
  /** Networks of proxies whose `X-Forwarded-For` is believed, in CIDR notation. */
  readonly trustedProxies: readonly string[];
}

/** A setting that breaks its rule; the message names the variable, the rule and the value. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads and checks every setting. Empty variables count as not set.
 *
 * @throws {ConfigError} at the first setting that breaks its rule
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = (name: string): string | null => environment[name]?.trim() || null;
  const { paid, free } = CONCURRENCY_LIMITS;
  return Object.freeze({
    host: hostname("HOST", read("HOST") ?? "127.0.0.1"),
    port: integer("PORT", read("PORT"), { lowest: 0, highest: 65_535, otherwise: 8080 }),
    dataDir: resolve(read("DATA_DIR") ?? "data"),
    databaseUrl: databaseUrl(read("DATABASE_URL")),
    devApiKey: developmentKey(read("DEV_API_KEY")),
    logLevel: oneOf("LOG_LEVEL", read("LOG_LEVEL") ?? "info", LOG_LEVELS),
    front: oneOf("FRONT", read("FRONT") ?? "auto", FRONTS),
    frontThreads: frontThreads(read("FRONT_THREADS"), read("FRONT")),
    maxConnections: connections(read("MAX_CONNECTIONS")),
    modelsDir: resolve(read("MODELS_DIR") ?? resolve(PACKAGE_ROOT, "models")),
    fileWorkers: workers("FILE_WORKERS", read("FILE_WORKERS")),
    liveWorkers: workers("LIVE_WORKERS", read("LIVE_WORKERS")),
    synthesisWorkers: workers("SYNTHESIS_WORKERS", read("SYNTHESIS_WORKERS")),
    synthesisRows: integer("SYNTHESIS_ROWS", read("SYNTHESIS_ROWS"), {
      lowest: 1,
      highest: 64,
      otherwise: 1,
    }),
    ortThreads: workers("ORT_THREADS", read("ORT_THREADS")),
    modelPreload: flag("MODEL_PRELOAD", read("MODEL_PRELOAD") ?? "true"),
    modelIdleMs:
      1000 * integer("MODEL_IDLE_S", read("MODEL_IDLE_S"), { lowest: 0, highest: 1_000_000, otherwise: 900 }),
    drainMs: 1000 * integer("DRAIN_S", read("DRAIN_S"), { lowest: 0, highest: 3600, otherwise: 30 }),
    operatorHost: hostname("OPERATOR_HOST", read("OPERATOR_HOST") ?? "127.0.0.1"),
    operatorPort: integer("OPERATOR_PORT", read("OPERATOR_PORT"), {
      lowest: 0,
      highest: 65_535,
      otherwise: 0,
    }),
    concurrency: Object.freeze({
      paid: Object.freeze({
        synthesis: perOrganization("SYNTHESIS_PER_ORG", read("SYNTHESIS_PER_ORG"), paid.synthesis),
        files: perOrganization("FILES_PER_ORG", read("FILES_PER_ORG"), paid.files),
        live: perOrganization("LIVE_PER_ORG", read("LIVE_PER_ORG"), paid.live),
      }),
      free: Object.freeze({
        synthesis: perOrganization("FREE_SYNTHESIS_PER_ORG", read("FREE_SYNTHESIS_PER_ORG"), free.synthesis),
        files: perOrganization("FREE_FILES_PER_ORG", read("FREE_FILES_PER_ORG"), free.files),
        live: perOrganization("FREE_LIVE_PER_ORG", read("FREE_LIVE_PER_ORG"), free.live),
      }),
    }),
    keyPepper: pepper(read("KEY_PEPPER")),
    keptAnswersBytes:
      2 ** 20 *
      integer("KEPT_ANSWERS_MB", read("KEPT_ANSWERS_MB"), {
        lowest: 0,
        highest: 1_000_000,
        otherwise: 1_024,
      }),
    spoolBytes:
      2 ** 20 * integer("SPOOL_MB", read("SPOOL_MB"), { lowest: 1, highest: 100_000_000, otherwise: 4_096 }),
    diskFloorBytes:
      2 ** 20 *
      integer("DISK_FLOOR_MB", read("DISK_FLOOR_MB"), { lowest: 0, highest: 100_000_000, otherwise: 256 }),
    sentenceCacheBytes:
      2 ** 20 *
      integer("SENTENCE_CACHE_MB", read("SENTENCE_CACHE_MB"), { lowest: 0, highest: 100_000, otherwise: 64 }),
    speechMemoryBytes:
      2 ** 20 *
      integer("SPEECH_MEMORY_MB", read("SPEECH_MEMORY_MB"), {
        lowest: 1,
        highest: 1_000_000,
        otherwise: 1_024,
      }),
    tariffs: Object.freeze({
      synthesis: tariff("TARIFF_SYNTHESIS", read("TARIFF_SYNTHESIS"), DEFAULT_TARIFFS.synthesis),
      file: tariff("TARIFF_FILE", read("TARIFF_FILE"), DEFAULT_TARIFFS.file),
      live: tariff("TARIFF_LIVE", read("TARIFF_LIVE"), DEFAULT_TARIFFS.live),
    }),
    urlFetchAllow: Object.freeze(networks("URL_FETCH_ALLOW", read("URL_FETCH_ALLOW"))),
    trustedProxies: Object.freeze(networks("TRUSTED_PROXIES", read("TRUSTED_PROXIES"))),
  });
}

/** Credits per character or second of audio: "2/5" is 2 credits for 5 characters. */
function tariff(name: string, value: string | null, otherwise: Tariff): Tariff {
  if (value === null) return otherwise;
  const match = /^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(value);
  if (match === null)
    throw broken(name, "must be a fraction of whole numbers such as 5/2, up to 999999 each", value);
  return Object.freeze({ credits: Number(match[1]), perUnits: Number(match[2]) });
}

interface IntegerRule {
  readonly lowest: number;
  readonly highest: number;
  readonly otherwise: number;
}

function integer(name: string, value: string | null, rule: IntegerRule): number {
  if (value === null) return rule.otherwise;
  const parsed = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (parsed >= rule.lowest && parsed <= rule.highest) return parsed;
  throw broken(name, `must be a whole number from ${rule.lowest} to ${rule.highest}`, value);
}

function workers(name: string, value: string | null): number {
  return integer(name, value, { lowest: 1, highest: Math.max(64, availableParallelism()), otherwise: 1 });
}

/** Only the native front can share its port between threads. */
function frontThreads(value: string | null, front: string | null): number {
  const count = workers("FRONT_THREADS", value);
  if (count === 1 || front !== "node") return count;
  throw broken(
    "FRONT_THREADS",
    "must be 1 with FRONT=node, whose threads cannot share a port",
    String(count),
  );
}

function connections(value: string | null): number | null {
  if (value === null) return null;
  return integer("MAX_CONNECTIONS", value, { lowest: 1, highest: 10_000_000, otherwise: 1 });
}

function perOrganization(name: string, value: string | null, otherwise: number): number {
  return integer(name, value, { lowest: 0, highest: 100_000, otherwise });
}

function flag(name: string, value: string): boolean {
  return oneOf(name, value, ["true", "false"]) === "true";
}

function oneOf<const T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw broken(name, `must be one of ${allowed.join(", ")}`, value);
}

function hostname(name: string, value: string): string {
  if (isIP(value) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(value)) return value;
  throw broken(name, "must be an IP address or a host name without scheme and port", value);
}

function databaseUrl(value: string | null): string | null {
  if (value === null) return null;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url !== null && (url.protocol === "postgres:" || url.protocol === "postgresql:")) return value;
  // The value may hold a password: the rule is shown, the value is not.
  throw new ConfigError("DATABASE_URL must look like postgres://user:password@host:5432/database");
}

function developmentKey(value: string | null): string | null {
  if (value === null || KEY_PATTERN.test(value)) return value;
  throw new ConfigError(
    `DEV_API_KEY must be "sk-svc-" and 48 lowercase hex digits, received ${value.length} characters`,
  );
}

function pepper(value: string | null): string | null {
  if (value === null || value.length >= 16) return value;
  throw new ConfigError(`KEY_PEPPER must be at least 16 characters long, received ${value.length}`);
}

function networks(name: string, value: string | null): string[] {
  const entries = (value ?? "").split(",").map((entry) => entry.trim());
  return entries.filter((entry) => entry !== "").map((entry) => network(name, entry));
}

function network(name: string, entry: string): string {
  const [address = "", bits = ""] = entry.split("/");
  const version = isIP(address);
  const widest = version === 4 ? 32 : 128;
  if (version !== 0 && entry === `${address}/${bits}` && /^\d{1,3}$/.test(bits) && Number(bits) <= widest) {
    return entry;
  }
  throw broken(name, "must be a comma-separated list of networks such as 10.0.0.0/8", entry);
}

function broken(name: string, rule: string, value: string): ConfigError {
  return new ConfigError(`${name} ${rule}, received "${value}"`);
}
