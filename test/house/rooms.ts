/**
 * A room is one folder (one file for the program itself); `/**` behind it takes in the folders below. `folders` names
 * folders that are one room with it.
 */
export interface Room {
  readonly name: string;
  readonly folders: readonly string[];
  /** What the room is there for, as ARCHITECTURE.md says it. */
  readonly holds: string;
  /** Rooms that it may import, or `test`: they stand above it in the list, so no circle of rooms can be written. */
  readonly imports: readonly string[];
  /** Packages and groups of node's modules ({@link NODE_GROUPS}) that it may import. */
  readonly packages: readonly string[];
}

/** What `import()` and `require` may load that only the run knows: a group like those of node's modules. */
const COMPUTED = "(computed)";

/** Modules of node that mean the same for an arrow. */
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
  net: ["dns/promises", "http", "https", "net"],
  threads: ["worker_threads"],
  processes: ["child_process"],
  modules: ["module", COMPUTED],
};

/** Everything that knows of time or endings may use the kernel, and everybody the pure rooms. */
const BASE = "actors/kernel src/domain";
const EVERY_PACKAGE_OF_A_BENCH = "ws pino tinybench sherpa-onnx-node";

/** From the bottom to the top. */
export const ROOMS: readonly Room[] = [
  room("actors/kernel", "actors, mailboxes, supervision: no speech in it", "", ""),
  room("src/domain/**", "pure logic: audio, text, decoding, endpointing, synthesis, usage, errors", "", ""),
  room("src/protocol", "messages and their parsers", "src/domain", "zod @msgpack/msgpack files"),
  room("src/ports", "interfaces between rooms", "src/domain src/protocol", ""),
  room(
    "src/observe",
    "log, metrics, traces",
    "src/ports",
    `pino prom-client tools @opentelemetry/api @opentelemetry/core @opentelemetry/resources @opentelemetry/sdk-trace
     @opentelemetry/exporter-trace-otlp-http`,
  ),
  room("src/settings", "settings, and the address of a running service", "src/domain", "zod tools files net"),
  room(
    "src/children",
    "programs of others: where they are, and how they start within limits",
    "",
    "files processes",
  ),
  room("src/player", "`dauys/player`: sentences through Web Audio without a gap", "src/domain", ""),
  room(
    "src/client",
    "`dauys/client`, for browsers and Node",
    "src/domain src/protocol",
    "ws tools files net",
  ),

  room("native/ring", "rings over shared memory", "actors/kernel", "ringbuf.js"),
  room(
    "native/beam",
    "hot loops in C++: the beam search and resampling; their loader",
    "src/domain",
    "files modules tools",
  ),
  room(
    "native/phonemes",
    "phonemes of a text, as Piper's voices know them, by espeak-ng",
    "src/domain src/children",
    "processes tools",
  ),
  room(
    "native/models/**",
    "model packages and graphs, one folder per family",
    `${BASE} src/ports native/phonemes`,
    "onnxruntime-node zod crypto files",
  ),
  room(
    "native/threads",
    "worker handles, and what is said to workers",
    `${BASE} src/ports native/models`,
    "threads tools",
  ),
  room(
    "native/devices",
    "providers and devices tried and timed, each in a process of its own",
    "src/domain native/models",
    "onnxruntime-node files processes tools",
  ),
  room(
    "native/recognition",
    "graphs, search and language model put together",
    `${BASE} native/beam native/models`,
    "tools",
  ),
  room(
    "native/live",
    "the live worker: batched steps, second pass",
    `${BASE} src/ports native/models native/recognition native/ring native/threads`,
    "threads tools",
  ),
  room(
    "native/synthesis",
    "the synthesis worker: solver steps, vocoder",
    `${BASE} src/ports native/models native/ring native/threads`,
    "threads tools",
  ),
  room(
    "native/transcription",
    "the file worker: hears parts, decodes pieces",
    `${BASE} native/beam native/models native/recognition native/threads`,
    "threads tools files",
  ),
  room(
    "native",
    "starts workers",
    `${BASE} native/models native/threads native/live native/synthesis native/transcription`,
    "piscina",
  ),

  room(
    "src/bus",
    "messages between processes: NATS, and the same within one process",
    "src/ports",
    "@nats-io/transport-node crypto tools",
  ),

  room("src/models/onnx", "int8 variants of ONNX graphs", "src/domain", "pbf"),
  room(
    "src/models",
    "which model packages are installed, which are defaults, and the catalogue of public ones",
    "src/domain src/settings native/models src/models/onnx",
    "zod crypto files tools",
  ),

  room("actors/residency", "when an engine's models are in memory", `${BASE} src/observe src/ports`, ""),
  room(
    "actors/live",
    "live sessions and their engine",
    `${BASE} src/observe src/protocol src/ports native/ring native/threads`,
    "",
  ),
  room(
    "actors/fleet",
    "a gateway's side of the fleet: which engine nodes there are, lanes to their live workers, calls to the others",
    `${BASE} src/observe src/ports native/ring native/threads native/transcription actors/live`,
    "@msgpack/msgpack",
  ),
  room(
    "actors/node",
    "an engine node's side: lanes and calls of gateways on its workers",
    `${BASE} src/observe src/ports native/ring native/threads native/transcription actors/live actors/fleet`,
    "",
  ),
  room(
    "actors/transcription",
    "transcriptions of files and their engine",
    `${BASE} src/observe src/ports native/threads native/transcription`,
    "crypto files",
  ),
  room("src/money", "charges for what was delivered", `${BASE} src/ports`, ""),
  room(
    "actors/synthesis",
    "syntheses, finished sentences, and their engine",
    `${BASE} src/observe src/protocol src/ports src/money native/ring native/threads`,
    "crypto lru-cache",
  ),

  room(
    "src/store/postgres",
    "connections, and the private server",
    `${BASE} src/observe src/ports`,
    "postgres crypto files net modules processes tools",
  ),
  room("src/store/migrations", "the schema, step by step", "src/domain src/store/postgres", ""),
  room(
    "src/store/ledger",
    "credits: holds, settlements, transfers",
    `${BASE} src/observe src/ports src/store/postgres`,
    "postgres crypto files tools",
  ),
  room(
    "src/store/people",
    "organizations, keys, users",
    `${BASE} src/observe src/ports src/store/postgres src/store/ledger`,
    "postgres lru-cache crypto",
  ),
  room(
    "src/store",
    "puts the store together",
    `${BASE} src/observe src/ports src/settings
     src/store/postgres src/store/migrations src/store/ledger src/store/people`,
    "postgres crypto files tools",
  ),
  room(
    "src/input/media",
    "decoders of untrusted audio, in limited processes",
    `${BASE} src/observe src/ports src/children`,
    "mpg123-decoder opus-decoder crypto files tools",
  ),
  room("src/input/url", "audio behind addresses", `${BASE} src/observe src/ports`, "net tools"),
  room(
    "src/models/hub",
    "adds packages: downloads, bundles; commands alone import it, the service calls nobody",
    "src/settings src/store/postgres native/models src/models",
    "undici tar-stream zod crypto files tools",
  ),

  room(
    "src/front/shared",
    "what both fronts need",
    `${BASE} src/observe src/ports`,
    "crypto files net tools",
  ),
  room(
    "src/front/node",
    "the portable front",
    `${BASE} src/observe src/protocol src/ports src/front/shared`,
    "ws modules net tools",
  ),
  room(
    "src/front/uws",
    "the native front",
    `${BASE} src/observe src/protocol src/ports src/front/shared`,
    "uWebSockets.js uws-repack uws-fork files modules net tools",
  ),
  room(
    "src/front/threads",
    "the native front in several threads",
    `${BASE} src/observe src/ports native/ring src/front/shared src/front/uws`,
    "net threads tools",
  ),
  room("src/front", "chooses the front", `${BASE} src/ports src/front/node src/front/uws`, ""),
  room(
    "src/http",
    "requests and answers, and what admits them",
    `${BASE} src/observe src/protocol src/ports`,
    "lru-cache crypto files net tools",
  ),
  room(
    "src/http/endpoints",
    "one file per path",
    `${BASE} src/observe src/protocol src/ports src/http`,
    "swagger-ui-dist crypto files modules tools",
  ),
  room(
    "src/live/dialects",
    "a live socket's messages, ours and Deepgram's",
    `${BASE} src/protocol src/ports src/http`,
    "crypto",
  ),
  room(
    "src/live",
    "live sockets",
    `${BASE} src/observe src/protocol src/ports src/front/shared src/http src/live/dialects`,
    "lru-cache crypto",
  ),
  room("src/console", "the paths of the console's pages", "", ""),
  room(
    "src/console/server",
    "the console's interface: accounts, keys, credits, members",
    `${BASE} src/observe src/protocol src/ports src/http src/console`,
    "zod lru-cache crypto files tools",
  ),
  room(
    "src/console/pages/**",
    "the console's pages, a user of client and player",
    "src/domain src/client src/player src/console",
    "preact vite",
  ),
  room(
    "src/service",
    "puts the service together",
    `${BASE} src/observe src/protocol src/ports src/settings native native/beam native/models native/devices native/threads
     src/bus src/models actors/residency actors/live actors/fleet actors/transcription actors/synthesis src/money
     src/store/postgres src/store src/input/media src/input/url src/front/shared src/front/threads src/front src/http src/http/endpoints src/live
     src/console/server`,
    "crypto files tools",
  ),
  room(
    "src/cli",
    "`npx dauys`: a user of the client, and operators' commands on the store",
    `src/domain src/observe src/settings src/client native/models native/devices src/models src/models/hub src/store/ledger
     src/store/people src/store`,
    "crypto files tools",
  ),
  room(
    "src/engine-node.ts",
    "puts an engine node together: no store, no keys, no public port",
    `src/observe src/protocol src/ports native native/models src/bus src/http src/service
     actors/node`,
    "tools",
  ),
  room("src/main.ts", "the program", "src/service src/engine-node.ts", ""),
  room("bin", "`npx dauys` as a program", "src/cli", "files modules processes tools"),

  room(
    "bench bench/capacity bench/e2e bench/evaluate bench/micro bench/support bench/support/rooms",
    "measurements of everything",
    `${BASE} src/observe src/protocol src/ports src/settings src/client native/ring native/beam native/models native/threads
     native/devices native/recognition native/live native/synthesis native/transcription native src/models actors/live
     actors/transcription actors/synthesis src/store/postgres src/store/migrations src/store/ledger src/input/media src/input/url
     src/front/uws src/front/threads src/front src/http src/service src/main.ts bin`,
    `${EVERY_PACKAGE_OF_A_BENCH} crypto files modules net processes threads tools`,
  ),
  room(
    "scripts scripts/no-download scripts/runtimes",
    "what npm runs",
    "src/observe src/protocol src/settings src/http/endpoints src/front src/front/uws src/main.ts bench test",
    "postgres vite marked oxc-transform onnxruntime-node crypto files modules net processes tools",
  ),
];

function room(names: string, holds: string, imports: string, packages: string): Room {
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
