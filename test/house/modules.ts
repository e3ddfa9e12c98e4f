/**
 * A module is one folder (one file for the program itself); a trailing `/**` includes the folders below.
 * `folders` names folders that are one module with it.
 */
export interface Module {
  readonly name: string;
  readonly folders: readonly string[];
  /** The purpose of the module, as in ARCHITECTURE.md. */
  readonly holds: string;
  /**
   * Modules that it may import, or `test`. They are above it in the list, so the list cannot contain circles.
   */
  readonly imports: readonly string[];
  /** Packages and groups of Node modules ({@link NODE_GROUPS}) that it may import. */
  readonly packages: readonly string[];
}

/**
 * Modules that `import()` and `require` may load by a name known only at run time: a group like those of
 * Node's modules.
 */
const COMPUTED = "(computed)";

/** Groups of Node modules that are allowed together. */
export const NODE_GROUPS: Readonly<Record<string, readonly string[]>> = {
  tools: [
    ...[
      "assert",
      "assert/strict",
      "buffer",
      "events",
      "os",
      "perf_hooks",
      "stream",
      "stream/consumers",
      "stream/promises",
    ],
    ...["test", "test/reporters", "timers/promises", "tty", "url", "util", "zlib"],
  ],
  files: ["fs", "fs/promises", "path"],
  crypto: ["crypto"],
  net: ["dns/promises", "http", "https", "net", "tls"],
  threads: ["worker_threads"],
  processes: ["child_process"],
  modules: ["module", COMPUTED],
};

/** Modules that all code may use: the kernel, for work with timers or shutdown, and the pure domain. */
const BASE = "core/kernel core/domain";
const EVERY_PACKAGE_OF_A_BENCH = "ws pino tinybench sherpa-onnx-node onnxruntime-node";

/** All modules, from the bottom to the top. */
export const MODULES: readonly Module[] = [
  module("core/kernel", "actors, mailboxes, supervision: no speech in it", "", ""),
  module(
    "core/domain/**",
    "pure logic: audio, text, decoding, endpointing, synthesis, usage, errors",
    "",
    "",
  ),
  module("core/protocol", "messages and their parsers", "core/domain", "zod @msgpack/msgpack files"),
  module("core/ports", "interfaces between modules", "core/domain core/protocol", ""),
  module(
    "core/observe",
    "log, metrics, traces",
    "core/ports",
    `pino prom-client tools @opentelemetry/api @opentelemetry/core @opentelemetry/resources @opentelemetry/sdk-trace
     @opentelemetry/exporter-trace-otlp-http`,
  ),
  module(
    "core/child-processes",
    "programs of others: where they are, and how they start within limits",
    "",
    "files processes",
  ),
  module("native/ring", "rings over shared memory", "core/kernel", "ringbuf.js"),
  module(
    "native/beam",
    "hot loops in C++: the beam search and resampling; their loader",
    "core/domain",
    "files modules tools",
  ),
  module(
    "native/phonemes",
    "phonemes of a text, as Piper's voices know them, by espeak-ng",
    "core/domain core/child-processes",
    "processes tools",
  ),
  module(
    "native/models/**",
    "model packages and graphs, one folder per family",
    `${BASE} core/ports native/beam native/phonemes`,
    "onnxruntime-node lru-cache zod pbf crypto files",
  ),
  module(
    "native/threads",
    "worker handles, and what is said to workers",
    `${BASE} core/ports native/models`,
    "piscina threads tools",
  ),
  module(
    "native/devices",
    "providers and devices tried and timed, each in a process of its own",
    "core/domain native/models",
    "onnxruntime-node files processes tools",
  ),
  module(
    "native/recognition",
    "graphs, search and language model put together",
    `${BASE} native/beam native/models`,
    "tools",
  ),
  module(
    "native/live",
    "the live worker: batched steps, second pass",
    `${BASE} core/ports native/models native/recognition native/ring native/threads`,
    "threads tools",
  ),
  module(
    "native/synthesis",
    "the synthesis worker: solver steps, vocoder",
    `${BASE} core/ports native/models native/ring native/threads`,
    "threads tools",
  ),
  module(
    "native/reading",
    "the reading thread: punctuation, capitals and figures of transcripts",
    "core/domain core/ports native/models native/threads",
    "lru-cache",
  ),
  module(
    "native/transcription",
    "the file worker: hears parts, decodes pieces",
    `${BASE} native/beam native/models native/recognition native/threads`,
    "threads tools files",
  ),
  module(
    "native",
    "starts workers",
    `${BASE} native/models native/threads native/live native/synthesis native/transcription`,
    "piscina",
  ),

  module("actors/residency", "when an engine's models are in memory", `${BASE} core/observe core/ports`, ""),
  module(
    "actors/live",
    "live sessions and their engine",
    `${BASE} core/observe core/protocol core/ports native/ring native/threads`,
    "",
  ),
  module(
    "actors/fleet",
    "a gateway's side of the fleet: which engine nodes there are, lanes to their live workers, calls to the others",
    `${BASE} core/observe core/ports native/ring native/threads native/transcription actors/live`,
    "@msgpack/msgpack",
  ),
  module(
    "actors/node",
    "an engine node's side: lanes and calls of gateways on its workers",
    `${BASE} core/observe core/ports native/ring native/threads native/transcription actors/live actors/fleet`,
    "",
  ),
  module(
    "actors/transcription",
    "transcriptions of files and their engine",
    `${BASE} core/observe core/ports native/threads native/transcription`,
    "crypto files",
  ),
  module("actors/billing", "charges for what was delivered", `${BASE} core/ports`, ""),
  module(
    "actors/synthesis",
    "syntheses, finished sentences, and their engine",
    `${BASE} core/observe core/protocol core/ports actors/billing native/ring native/threads`,
    "crypto lru-cache",
  ),

  module(
    "src/settings",
    "settings, and the address of a running service",
    "core/domain",
    "zod tools files net",
  ),
  module("src/player", "`dauys/player`: sentences through Web Audio without a gap", "core/domain", ""),
  module(
    "src/client",
    "`dauys/client`, for browsers and Node",
    "core/domain core/protocol",
    "ws tools files net",
  ),

  module(
    "src/bus",
    "messages between processes, over NATS",
    "core/ports",
    "@nats-io/transport-node crypto tools",
  ),

  module("src/models/onnx", "int8 variants of ONNX graphs", "core/domain", "pbf"),
  module(
    "src/models",
    "which model packages are installed, which are defaults, and the catalogue of public ones",
    "core/domain src/settings native/models src/models/onnx",
    "zod crypto files tools",
  ),

  module(
    "src/store/postgres",
    "connections, and the private server",
    `${BASE} core/observe core/ports`,
    "postgres crypto files net modules processes tools",
  ),
  module("src/store/migrations", "the schema, step by step", "core/domain src/store/postgres", ""),
  module(
    "src/store/ledger",
    "credits: holds, settlements, transfers",
    `${BASE} core/observe core/ports src/store/postgres`,
    "postgres crypto files tools",
  ),
  module(
    "src/store/accounts",
    "organizations, keys, users",
    `${BASE} core/observe core/ports src/store/postgres src/store/ledger`,
    "postgres lru-cache crypto",
  ),
  module(
    "src/store/jobs",
    "jobs, their audio and their queue",
    `${BASE} core/observe core/protocol core/ports native/threads src/store/postgres src/store/ledger`,
    "postgres pg-boss crypto",
  ),
  module(
    "src/store",
    "puts the store together",
    `${BASE} core/observe core/ports src/settings
     src/store/postgres src/store/migrations src/store/ledger src/store/accounts src/store/jobs`,
    "postgres crypto files tools",
  ),
  module(
    "src/input/media",
    "decoders of untrusted audio, in limited processes",
    `${BASE} core/observe core/ports core/child-processes`,
    "mpg123-decoder opus-decoder crypto files tools",
  ),
  module("src/input/url", "audio behind addresses", `${BASE} core/observe core/ports`, "net tools"),
  module(
    "src/models/hub",
    "adds packages: downloads, bundles; commands alone import it, the service calls nobody",
    "src/settings src/store/postgres native/models src/models",
    "undici tar-stream zod crypto files tools",
  ),

  module(
    "src/front/shared",
    "what both fronts need",
    `${BASE} core/observe core/ports`,
    "crypto files net tools",
  ),
  module(
    "src/front/node",
    "the portable front",
    `${BASE} core/observe core/protocol core/ports src/front/shared`,
    "ws modules net tools",
  ),
  module(
    "src/front/uws",
    "the native front",
    `${BASE} core/observe core/protocol core/ports src/front/shared`,
    "uWebSockets.js uws-repack uws-fork files modules net tools",
  ),
  module(
    "src/front/threads",
    "the native front in several threads",
    `${BASE} core/observe core/ports native/ring src/front/shared src/front/uws`,
    "net threads tools",
  ),
  module("src/front", "chooses the front", `${BASE} core/ports src/front/node src/front/uws`, ""),
  module(
    "src/http",
    "requests and answers, and what admits them",
    `${BASE} core/observe core/protocol core/ports`,
    "lru-cache crypto files net tools",
  ),
  module(
    "src/http/endpoints",
    "one file per task",
    `${BASE} core/observe core/protocol core/ports src/http`,
    "swagger-ui-dist lru-cache crypto files modules tools",
  ),
  module(
    "src/jobs",
    "runs jobs, and sends their webhooks",
    `${BASE} core/observe core/protocol core/ports src/http`,
    "crypto tools",
  ),
  module(
    "src/live/dialects",
    "a live socket's messages: ours, Deepgram's and OpenAI's",
    `${BASE} core/protocol core/ports src/http`,
    "crypto",
  ),
  module(
    "src/live",
    "live sockets",
    `${BASE} core/observe core/protocol core/ports src/front/shared src/http src/live/dialects`,
    "lru-cache crypto",
  ),
  module("src/console", "the paths of the console's pages", "", ""),
  module(
    "src/mail",
    "mail over SMTP, and its texts in three languages",
    "core/observe core/ports",
    "nodemailer",
  ),
  module(
    "src/console/server",
    "the console's interface: accounts, keys, credits, members",
    `${BASE} core/observe core/protocol core/ports src/http src/console`,
    "zod lru-cache crypto files tools",
  ),
  module(
    "src/console/pages/**",
    "the console's pages, a user of client and player",
    "core/domain src/client src/player src/console",
    "preact vite",
  ),
  module(
    "src/service",
    "puts the service together",
    `${BASE} core/observe core/protocol core/ports src/settings native native/beam native/models native/devices native/threads
     native/reading src/bus src/models actors/residency actors/live actors/fleet actors/transcription actors/synthesis actors/billing
     src/store/postgres src/store src/input/media src/input/url src/front/shared src/front/threads src/front src/http src/http/endpoints src/jobs src/live
     src/console/server src/mail src/store/accounts`,
    "crypto files tools",
  ),
  module("src/plots", "plots as SVG, light and dark", "", ""),
  module(
    "src/cli/bench",
    "`dauys bench`: load on a speech service, delays and their page",
    "core/domain src/plots",
    "ws tools files net crypto",
  ),
  module(
    "src/conformance",
    "documented requirements as data, run against any server",
    "core/domain core/protocol",
    "ws crypto files tools",
  ),
  module(
    "src/cli",
    "`npx dauys`: a user of the client, and operators' commands on the store",
    `core/domain core/observe src/settings src/client src/conformance src/cli/bench native/models native/devices src/models src/models/hub src/store/ledger
     src/store/accounts src/store`,
    "crypto files tools",
  ),
  module(
    "src/engine-node.ts",
    "puts an engine node together: no store, no keys, no public port",
    `core/kernel core/observe core/protocol core/ports native native/models src/bus src/service actors/node`,
    "",
  ),
  module("src/main.ts", "the program", "src/service src/engine-node.ts", ""),
  module("bin", "`npx dauys` as a program", "src/cli", "files modules processes tools"),

  module(
    "bench bench/capacity bench/e2e bench/evaluate bench/micro bench/plots bench/support bench/support/rooms",
    "measurements of everything",
    `${BASE} core/observe core/protocol core/ports src/settings src/client src/plots src/cli/bench native/ring native/beam native/models native/threads
     native/devices native/recognition native/live native/reading native/synthesis native/transcription native src/models src/models/onnx actors/live
     actors/transcription actors/synthesis src/store/postgres src/store/migrations src/store/ledger src/input/media src/input/url
     src/front/uws src/front/threads src/front src/http src/service src/main.ts bin`,
    `${EVERY_PACKAGE_OF_A_BENCH} crypto files modules net processes threads tools`,
  ),
  module(
    "scripts scripts/no-download scripts/runtimes",
    "what npm runs",
    "core/observe core/protocol src/settings src/conformance src/http/endpoints src/front src/front/uws src/main.ts bench test native/models",
    "postgres vite marked oxc-transform onnxruntime-node crypto files modules net processes tools",
  ),
];

function module(names: string, holds: string, imports: string, packages: string): Module {
  const folders = words(names);
  return {
    name: (folders[0] ?? "").replace("/**", ""),
    folders,
    holds,
    imports: words(imports),
    packages: words(packages),
  };
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
