import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { saveResult } from "../save-result.js";
import { loadOverHttp } from "../support/http-load.js";
import { startServiceProcess } from "../support/service-process.js";

const BARE_SERVER = fileURLToPath(new URL("../support/bare-server.js", import.meta.url));
const KINDS = ["uws", "node"] as const;
const PATHS = [
  { name: "catalog", method: "GET", path: "/v1/voices" },
  { name: "auth", method: "POST", path: "/v1/stream/token" },
] as const;

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

/** `npm run bench -- front`: the catalog and the way through a key, beside handlers with nothing around them. */
export async function run({ smoke }: { readonly smoke: boolean }): Promise<void> {
  const parameters = {
    connections: 32,
    durationMs: smoke ? 200 : 2_000,
    warmupMs: smoke ? 100 : 1_000,
    rounds: smoke ? 1 : 3,
  };
  const services = [];
  for (const kind of KINDS) services.push(await startServiceProcess({ FRONT: kind }));
  const { url, key } = services[0]!;
  const catalog = await (await fetch(`${url}/v1/voices`)).text();
  const servers: Server[] = services.map((service, index) => {
    return { name: `dauys ${KINDS[index]}`, port: service.port, stop: () => service.stop() };
  });
  for (const kind of KINDS) servers.push(await startBare(kind, catalog));
  try {
    const figures: Figure[] = [];
    // Rounds alternate, so that a change of the machine's mood meets every server.
    for (let round = 0; round < parameters.rounds; round++) {
      for (const path of PATHS) {
        for (const server of servers) figures.push(await measure(server, path, key, parameters));
      }
    }
    const best = PATHS.flatMap(({ name }) => servers.map((server) => median(figures, server.name, name)));
    for (const figure of best) print(figure);
    if (!smoke) await saveResult("front", { parameters, figures: best, rounds: figures });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function measure(
  server: Server,
  { name, method, path }: (typeof PATHS)[number],
  key: string,
  { connections, durationMs, warmupMs }: { connections: number; durationMs: number; warmupMs: number },
): Promise<Figure> {
  const length = method === "POST" ? "Content-Length: 0\r\n" : "";
  const request = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${length}\r\n`;
  const load = { port: server.port, request, connections };
  await loadOverHttp({ ...load, durationMs: warmupMs });
  const { latenciesMs, perSecond } = await loadOverHttp({ ...load, durationMs });
  latenciesMs.sort();
  const at = (share: number) =>
    latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))]!;
  const quantiles = { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
  return { server: server.name, path: name, perSecond, ...quantiles, answers: latenciesMs.length };
}

/** The round in the middle by throughput. */
function median(figures: readonly Figure[], server: string, path: string): Figure {
  const own = figures.filter((figure) => figure.server === server && figure.path === path);
  return own.sort((a, b) => a.perSecond - b.perSecond)[own.length >> 1]!;
}

function print({ server, path, perSecond, p50Ms, p99Ms }: Figure): void {
  const columns = [path.padEnd(8), server.padEnd(11), `${perSecond.toFixed(0)}/s`.padStart(9)];
  console.log(`${columns.join(" ")}  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`);
}

async function startBare(kind: (typeof KINDS)[number], body: string): Promise<Server> {
  const child: ChildProcess = spawn(process.execPath, [BARE_SERVER, kind, body], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout!, "data");
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { name: `bare ${kind}`, port: Number(String(line)), stop };
}
