import { once } from "node:events";
import { type EngineProcess, startEngineProcess } from "../../bench/support/engine-process.js";
import { freePort } from "../../bench/support/free-port.js";
import { NatsServer } from "../../bench/support/nats-server.js";
import { type ServiceProcess, startServiceProcess } from "../../bench/support/service-process.js";
import { Transfers } from "../../src/store/ledger/transfers.js";
import { connect } from "../../src/store/postgres/connect.js";
import { SmallDisk, whyNoMounts } from "../attack/support/small-disk.js";
import { eventually } from "../support/eventually.js";
import { temporaryFolder } from "../support/folders.js";
import { lightModels } from "../support/light-models.js";
import { type LoadBalancer, openLoadBalancer } from "../support/load-balancer.js";
import { NetworkNamespace, WITHOUT_NAMESPACES } from "../support/network-namespace.js";
import { ReplicatedPostgres } from "../support/replicated-postgres.js";
import { SILENT } from "../support/silent-log.js";
import { SlowLink } from "../support/slow-link.js";
import { FakeClock } from "./fake-clock.js";

const SOUND_WITHIN_MS = 180_000;
const CREDITS = 1_000_000_000;
const DISK_MB = 64;
/** Without a cache every response comes from a model. A cache would hide faults. */
const ENGINE_SETTINGS = { SYNTHESIS_WORKERS: "1", FILE_WORKERS: "1", SENTENCE_CACHE_MB: "0" };
/** The index of the bus server that runs in the namespace, and of its link. */
export const FAR = 2;

type Environment = Readonly<Record<string, string>>;

/** A gateway with its own disk and clock, which outlive its processes. */
export interface Gateway {
  readonly environment: Environment;
  readonly port: number;
  readonly disk: SmallDisk | null;
  readonly clock: FakeClock;
  process: ServiceProcess;
}

export interface Engine {
  readonly environment: Environment;
  process: EngineProcess;
}

/**
 * Two gateways behind one address, three engines, three bus servers, and PostgreSQL with a synchronous
 * standby. The first engine reaches the bus through a slow link. The third bus server is in a separate
 * network, and the third engine uses it.
 */
export class Fleet {
  readonly database: ReplicatedPostgres;
  readonly bus: readonly NatsServer[];
  readonly slowLink: SlowLink;
  /** Null on machines without namespaces, where the third bus server runs like the others. */
  readonly network: NetworkNamespace | null;
  readonly gateways: readonly Gateway[];
  readonly engines: readonly Engine[];
  readonly front: LoadBalancer;

  private constructor(
    parts: Pick<Fleet, "database" | "bus" | "slowLink" | "network" | "gateways" | "engines" | "front">,
  ) {
    ({
      database: this.database,
      bus: this.bus,
      slowLink: this.slowLink,
      network: this.network,
      gateways: this.gateways,
      engines: this.engines,
      front: this.front,
    } = parts);
  }

  /** @param seed determines which gateway gets each request */
  static async start(seed: number): Promise<Fleet> {
    const opened: (() => unknown)[] = [];
    try {
      return await Fleet.#open(seed, opened);
    } catch (error) {
      for (const close of opened.toReversed()) await close();
      throw error;
    }
  }

  /** @param opened receives a function that closes each part, in the order in which the parts were opened */
  static async #open(seed: number, opened: (() => unknown)[]): Promise<Fleet> {
    const network = WITHOUT_NAMESPACES === false ? new NetworkNamespace() : null;
    opened.push(() => network?.remove());
    const database = await ReplicatedPostgres.start({ isSynchronous: true });
    opened.push(() => database.stop());
    const bus = await startBus(network);
    opened.push(() => Promise.all(bus.map((server) => server.kill())));
    const models = await lightModels();
    const slowLink = await SlowLink.open({ port: bus[0]!.port, delayMs: 0, bytesPerSecond: 1e9 });
    opened.push(() => slowLink.close());
    const all = bus.map(({ url }) => url).join();
    const engines: Engine[] = [];
    for (const busUrl of [`nats://127.0.0.1:${slowLink.port}`, all, bus[FAR]!.url]) {
      const environment = { ...models, ...ENGINE_SETTINGS, BUS_URL: busUrl };
      const engine = { environment, process: await startEngineProcess(environment) };
      opened.push(() => engine.process.stop());
      engines.push(engine);
    }
    const gateways: Gateway[] = [];
    for (let count = 0; count < 2; count++) {
      const gateway = await startGateway({ ...models, BUS_URL: all, DATABASE_URL: database.url });
      opened.push(() => gateway.process.stop());
      gateways.push(gateway);
    }
    const sql = connect(database.url, SILENT);
    await new Transfers(sql).topUp("org_development", CREDITS, "credits of a run with faults");
    await sql.end();
    const front = await openLoadBalancer(() => gateways.map(({ port }) => port), seed);
    return new Fleet({ database, bus, slowLink, network, gateways, engines, front });
  }

  get key(): string {
    return this.gateways[0]!.process.key;
  }

  async startGatewayAgain(gateway: Gateway): Promise<void> {
    gateway.process = await startServiceProcess(gateway.environment);
  }

  async startEngineAgain(engine: Engine): Promise<void> {
    engine.process = await startEngineProcess(engine.environment);
  }

  /** Settles once every gateway and every engine is ready. @throws with their output if any has ended */
  async untilSound(): Promise<void> {
    for (const { process, port } of this.gateways) {
      requireAlive(process);
      await eventually(`gateway ${port} is ready`, () => isReady(port), SOUND_WITHIN_MS);
    }
    for (const { process } of this.engines) {
      requireAlive(process);
      const { operatorPort } = process;
      await eventually(`engine ${operatorPort} is ready`, () => isReady(operatorPort), SOUND_WITHIN_MS);
    }
  }

  /** @returns the exit codes of gateways and engines */
  async stop(): Promise<readonly (number | null)[]> {
    await this.front.close();
    const processes = [...this.gateways, ...this.engines].map(({ process }) => process);
    const codes = await Promise.all(processes.map((process) => process.stop()));
    await this.slowLink.close();
    await Promise.all(this.bus.map((server) => server.kill()));
    await this.database.stop();
    this.network?.remove();
    return codes;
  }
}

/** Kills a process as `kill -9` does. */
export async function kill({ child }: Pick<ServiceProcess, "child">): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

function requireAlive({ child, output }: Pick<ServiceProcess, "child" | "output">): void {
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`a process ended by itself with ${child.exitCode ?? child.signalCode}:\n${output()}`);
}

async function isReady(port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(5_000);
  const answer = await fetch(`http://127.0.0.1:${port}/ready`, { signal }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/** Starts three servers with routes to each other. The last one is in a separate network, if there is one. */
async function startBus(network: NetworkNamespace | null): Promise<readonly NatsServer[]> {
  const farHost = network?.link(FAR) ?? "127.0.0.1";
  const hosts = ["127.0.0.1", "127.0.0.1", farHost];
  const ports = await Promise.all(hosts.map(() => freePort()));
  const routes = hosts.map((host, nth) => `nats://${host}:${ports[nth]}`);
  return await Promise.all(
    hosts.map((host, nth) => {
      const isFar = nth === FAR && network !== null;
      // The far server cannot reach the others from its network; they connect to it.
      const more = ["--cluster_name", "faults", "--cluster", routes[nth]!, "--routes", routes.join()];
      return NatsServer.startAt({ host, more, ...(isFar && { within: network.within }) });
    }),
  );
}

async function startGateway(settings: Environment): Promise<Gateway> {
  const disk = whyNoMounts() === null ? await SmallDisk.mount(DISK_MB) : null;
  const folder = await temporaryFolder();
  const clock = new FakeClock(folder);
  const port = await freePort();
  const environment = {
    ...settings,
    ...clock.environment,
    ROLE: "gateway",
    KEY_PEPPER: "pepper of a fleet with faults",
    DATA_DIR: disk?.path ?? folder,
    PORT: String(port),
    OPERATOR_PORT: "0",
    LIVE_LANES: "2",
    ...{ LIVE_PER_ORG: "1000", SYNTHESIS_PER_ORG: "1000", FILES_PER_ORG: "1000" },
    ...{ DISK_FLOOR_MB: "4", SPOOL_MB: "24" },
  };
  return { environment, port, disk, clock, process: await startServiceProcess(environment) };
}
