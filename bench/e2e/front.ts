import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { loadOverHttp } from "../support/http-load.js";
import { startServiceProcess, TEST_KEY } from "../support/service-process.js";

const BARE_SERVER = fileURLToPath(new URL("../support/bare-server.js", import.meta.url));
const KINDS = ["uws", "node"] as const;
const PATHS = [
  { name: "catalog", method: "GET", path: "/v1/voices" },
  { name: "auth", method: "POST", path: "/v1/stream/token" },
] as const;

/** A Node version to run on, and the fronts that it supports. */
interface Runtime {
  /** Prefix of its servers' names; empty for the Node that runs the bench. */
  readonly name: string;
  /** Command that starts this Node. */
  readonly node: readonly string[];
  readonly kinds: readonly Kind[];
}

type Kind = (typeof KINDS)[number];

interface Server {
  readonly name: string;
  readonly port: number;
  stop(): Promise<unknown>;
}

interface Figure {
  readonly server: string;
  readonly path: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly answers: number;
}

const OWN: Runtime = {
  name: "",
  node: [process.execPath],
  kinds: typeof loadUwsBinding() === "string" ? ["node"] : KINDS,
};

/**
 * `npm run bench -- front`: the catalog and the check of a key, compared with bare handlers.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { runtimes: { type: "string" } } });
  const runtimes = values.runtimes === undefined ? [OWN] : (JSON.parse(values.runtimes) as Runtime[]);
  const parameters = {
    connections: 32,
    durationMs: smoke ? 200 : 2_000,
    warmupMs: smoke ? 100 : 1_000,
    rounds: smoke ? 1 : 3,
  };
  const servers: Server[] = [];
  try {
    for (const runtime of runtimes) await startServers(runtime, servers);
    const figures: Figure[] = [];
    // Rounds alternate, so that other load on the machine affects every server alike.
    for (let round = 0; round < parameters.rounds; round++) {
      for (const path of PATHS) {
        for (const server of servers) figures.push(await measure(server, path, parameters));
      }
    }
    const best = PATHS.flatMap(({ name }) => servers.map((server) => median(figures, server.name, name)));
    for (const figure of best) print(figure);
    const ratios = runtimes.flatMap((runtime) => ratiosOf(runtime, best));
    for (const { path, name, ratio } of ratios) console.log(`${path.padEnd(8)} ${name}: ${ratio.toFixed(2)}`);
    const name = values.runtimes === undefined ? "front" : "runtimes";
    if (!smoke) await saveResult(name, { parameters, ratios, figures: best, rounds: figures });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function measure(
  server: Server,
  { name, method, path }: (typeof PATHS)[number],
  { connections, durationMs, warmupMs }: { connections: number; durationMs: number; warmupMs: number },
): Promise<Figure> {
  const length = method === "POST" ? "Content-Length: 0\r\n" : "";
  const request = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TEST_KEY}\r\n${length}\r\n`;
  const load = { port: server.port, request, connections };
  await loadOverHttp({ ...load, durationMs: warmupMs });
  const { latenciesMs, perSecond } = await loadOverHttp({ ...load, durationMs });
  latenciesMs.sort();
  const at = (share: number) =>
    latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))]!;
  const quantiles = { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
  return { server: server.name, path: name, perSecond, ...quantiles, answers: latenciesMs.length };
}

/** Returns the round with the median throughput. */
function median(figures: readonly Figure[], server: string, path: string): Figure {
  const own = figures.filter((figure) => figure.server === server && figure.path === path);
  return own.sort((a, b) => a.perSecond - b.perSecond)[own.length >> 1]!;
}

function print({ server, path, perSecond, p50Ms, p99Ms }: Figure): void {
  const columns = [path.padEnd(8), server.padEnd(11), `${perSecond.toFixed(0)}/s`.padStart(9)];
  console.log(`${columns.join(" ")}  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`);
}

/** Adds the service on each front, and each bare handler, to `servers`. */
async function startServers({ name, node, kinds }: Runtime, servers: Server[]): Promise<void> {
  const prefix = name === "" ? "" : `${name} `;
  let catalog = "";
  for (const kind of kinds) {
    const service = await startServiceProcess({ FRONT: kind, MODEL_PRELOAD: "false" }, { node });
    servers.push({ name: `${prefix}dauys ${kind}`, port: service.port, stop: () => service.stop() });
    catalog = await (await fetch(`${service.url}/v1/voices`)).text();
  }
  for (const kind of kinds) {
    const bare = await startBare(kind, catalog, node);
    servers.push({ ...bare, name: `${prefix}${bare.name}` });
  }
}

interface Ratio {
  readonly path: string;
  readonly name: string;
  /** Ratio of the two servers' responses per second. */
  readonly ratio: number;
}

/** Compares the service with a bare handler of its kind, and the native front with the portable one. */
function ratiosOf({ name, kinds }: Runtime, best: readonly Figure[]): Ratio[] {
  const prefix = name === "" ? "" : `${name} `;
  const perSecond = (server: string, path: string) =>
    best.find((figure) => figure.server === `${prefix}${server}` && figure.path === path)!.perSecond;
  const pairs = [
    ...kinds.map((kind) => [`dauys ${kind}`, `bare ${kind}`] as const),
    ...(kinds.length > 1 ? [["dauys uws", "dauys node"] as const] : []),
  ];
  return PATHS.flatMap(({ name: path }) =>
    pairs.map(([one, other]) => {
      return {
        path,
        name: `${prefix}${one} / ${other}`,
        ratio: perSecond(one, path) / perSecond(other, path),
      };
    }),
  );
}

async function startBare(kind: Kind, body: string, node: readonly string[]): Promise<Server> {
  const [command = "", ...before] = node;
  const child: ChildProcess = spawn(command, [...before, BARE_SERVER, kind, body], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout!, "data");
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { name: `bare ${kind}`, port: Number(String(line)), stop };
}
