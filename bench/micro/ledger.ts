import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { DEFAULT_TARIFFS } from "../../core/domain/usage/tariff.js";
import { HoldChanges } from "../../src/store/ledger/hold-changes.js";
import { Holds, type NewHold } from "../../src/store/ledger/holds.js";
import { ServiceInstances } from "../../src/store/ledger/service-instances.js";
import { MIGRATIONS } from "../../src/store/migrations/all.js";
import { connect } from "../../src/store/postgres/connect.js";
import { EmbeddedPostgres } from "../../src/store/postgres/embedded-postgres.js";
import { migrate } from "../../src/store/postgres/migrate.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { percentiles } from "../support/percentiles.js";
import { cpuSecondsOf } from "../support/service-process.js";

const LOG = pino({ level: "silent" });
const ORGANIZATIONS = 200;
/** Number of concurrent clients, over all services. */
const AT_ONCE = 200;
const SERVICE = "svc_bench";
/** Price of a minute of live audio, and of the next one. */
const CREDITS = 360;

type Sql = ReturnType<typeof connect>;

/** One way in which a service changes holds. */
interface Way {
  open(hold: NewHold): Promise<unknown>;
  extend(hold: NewHold): Promise<unknown>;
  post(hold: NewHold): Promise<unknown>;
}

const STAGES = ["open", "extend", "post"] as const;

interface Load {
  readonly organizations: number;
  readonly services: number;
}

const LOADS: readonly Load[] = [
  { organizations: 1, services: 1 },
  { organizations: 1, services: 2 },
  { organizations: ORGANIZATIONS, services: 1 },
  { organizations: ORGANIZATIONS, services: 2 },
];

/** Cost of a stage per change. */
interface Cost {
  readonly perSecond: number;
  readonly serviceMs: number;
  readonly serverMs: number;
  readonly walBytes: number;
}

interface Sizes {
  readonly rounds: number;
  readonly holds: number;
  readonly singles: number;
  readonly journaled: number;
  readonly journals: number;
  readonly inWork: readonly number[];
}

const FULL: Sizes = {
  ...{ rounds: 3, holds: 300, singles: 60, journaled: 2_000, journals: 20 },
  inWork: [0, 20, 2_000],
};
const SMOKE: Sizes = {
  ...{ rounds: 1, holds: 20, singles: 4, journaled: 20, journals: 2 },
  inWork: [0, 20],
};

/**
 * Opens, extends and posts holds, and writes the journal of live sessions, on a private PostgreSQL: one
 * statement each, as the previous version did, compared with batches, alternating. CPU times are also valid
 * on a busy machine.
 */
export async function run({ smoke }: BenchOptions): Promise<void> {
  const sizes = smoke ? SMOKE : FULL;
  const dataDir = await mkdtemp(join(tmpdir(), "dauys-ledger-"));
  const server = await EmbeddedPostgres.start({ dataDir, purpose: "service", log: LOG });
  const pools = [connect(server.connection, LOG), connect(server.connection, LOG)];
  const [sql] = pools as [Sql, Sql];
  try {
    await migrate(sql, MIGRATIONS);
    await enterOrganizations(sql);
    const bench = new LedgerBench(pools, await serverProcess(dataDir), sizes);
    const changes = await bench.changes();
    const alone = await bench.alone();
    const inWork = await bench.byHoldsInWork();
    const journal = await bench.journal();
    if (smoke) return;
    const parameters = { ...sizes, atOnce: AT_ONCE, loads: LOADS };
    console.log(await saveResult("ledger", { parameters, changes, alone, inWork, journal }));
  } finally {
    for (const pool of pools) await pool.end();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

class LedgerBench {
  readonly #sql: Sql;
  readonly #server: number;
  readonly #sizes: Sizes;
  readonly #ways: Readonly<Record<"apart" | "together", readonly Way[]>>;

  constructor(pools: readonly Sql[], server: number, sizes: Sizes) {
    this.#sql = pools[0]!;
    this.#server = server;
    this.#sizes = sizes;
    this.#ways = { apart: pools.map(apart), together: pools.map(together) };
  }

  /** Measures rates with many concurrent clients. */
  async changes() {
    const { rounds, holds } = this.#sizes;
    const names = ["apart", "together"] as const;
    const figures = LOADS.flatMap((load) =>
      names.flatMap((way) => STAGES.map((stage) => ({ ...load, way, stage, costs: [] as Cost[] }))),
    );
    // The first round warms up both.
    for (let round = -1; round < rounds; round++) {
      for (const load of LOADS) {
        for (const way of round % 2 === 0 ? names : names.toReversed()) {
          const made = Array.from({ length: holds }, (_, nth) => this.#newHold(nth % load.organizations));
          for (const stage of STAGES) {
            const cost = await this.#cost(made, load.services, (hold, nth) =>
              this.#ways[way][nth]![stage](hold),
            );
            const figure = figures.find(
              (each) =>
                each.organizations === load.organizations &&
                each.services === load.services &&
                each.way === way &&
                each.stage === stage,
            )!;
            if (round >= 0 || rounds === 1) figure.costs.push(cost);
          }
        }
      }
    }
    return figures.map(({ costs, ...rest }) => {
      const figure = { ...rest, ...middle(costs), perSecondOfRounds: costs.map((each) => each.perSecond) };
      const { organizations, services, way, stage, perSecond, serviceMs, serverMs, walBytes } = figure;
      console.log(
        `ledger: ${stage} ${way}, ${organizations} organizations, ${services} services: ` +
          `${perSecond.toFixed(0)}/s, CPU ${serviceMs.toFixed(3)} + ${serverMs.toFixed(3)} ms, ${walBytes.toFixed(0)} B of WAL`,
      );
      return figure;
    });
  }

  /** Measures openings one by one: the wait of a request on an idle service. */
  async alone() {
    return await this.#inTurns("alone", this.#sizes.singles, (way) => {
      const hold = this.#newHold(0);
      return () => way.open(hold);
    });
  }

  /**
   * Measures openings of an organization with this many open holds, without and with a limit, which counts
   * them.
   */
  async byHoldsInWork() {
    const figures = [];
    let organization = 1;
    for (const inWork of this.#sizes.inWork) {
      for (const isLimited of [false, true]) {
        const own = organization++;
        const made = Array.from({ length: inWork }, () => this.#newHold(own));
        await inParallel(made, (hold) => this.#ways.together[0]!.open(hold));
        const latencies = await this.#inTurns(
          `${inWork} in work, ${isLimited ? "limited" : "unlimited"}`,
          this.#sizes.singles,
          (way) => {
            const hold = this.#newHold(own);
            const limit = { atOnce: inWork + 1_000, over: [] };
            return () => way.open(isLimited ? { ...hold, limit } : hold);
          },
          // Without this, open holds would accumulate.
          async () => {
            await this.#sql`
              update holds set state = 'voided', closed_at = now() where state = 'open'
                and id = (select id from holds where organization_id = ${name(own)} order by opened_at desc limit 1)`;
          },
        );
        figures.push({ inWork, isLimited, ...latencies });
      }
    }
    return figures;
  }

  /**
   * Measures one second's journal of many live sessions: a row per hold compared with one value per service.
   */
  async journal() {
    const { journaled, journals } = this.#sizes;
    const made = Array.from({ length: journaled }, (_, nth) => this.#newHold(nth % ORGANIZATIONS));
    await inParallel(made, (hold) => this.#ways.together[0]!.open(hold));
    const instances = new ServiceInstances(this.#sql);
    await instances.heartbeat(SERVICE);
    const costs = { inHolds: [] as Spent[], inOneValue: [] as Spent[] };
    for (let nth = 1; nth <= journals; nth++) {
      const acceptedById = new Map(made.map(({ id }) => [id, 16_000 * nth]));
      const inHolds = () => journalInHolds(this.#sql, acceptedById);
      const inOneValue = () => instances.journal({ serviceId: SERVICE, nth, acceptedById });
      costs.inHolds.push(await this.#spent(inHolds));
      costs.inOneValue.push(await this.#spent(inOneValue));
    }
    const figures = Object.entries(costs).map(([way, spent]) => ({
      way,
      ms: percentiles(
        spent.map(({ seconds }) => seconds * 1e3),
        2,
      ),
      serviceMs: mean(spent.map((each) => each.serviceSeconds)) * 1e3,
      serverMs: mean(spent.map((each) => each.serverSeconds)) * 1e3,
      walBytes: mean(spent.map((each) => each.walBytes)),
    }));
    for (const { way, ms, serviceMs, serverMs, walBytes } of figures)
      console.log(
        `ledger: journal of ${journaled} ${way}: ${ms?.p50} ms, CPU ${serviceMs.toFixed(1)} + ${serverMs.toFixed(1)} ms, ` +
          `${walBytes.toFixed(0)} B of WAL`,
      );
    return { holds: journaled, figures };
  }

  async #inTurns(
    what: string,
    times: number,
    next: (way: Way) => () => Promise<unknown>,
    after?: () => Promise<void>,
  ) {
    const ms = { apart: [] as number[], together: [] as number[] };
    for (let nth = 0; nth < times; nth++) {
      for (const way of ["apart", "together"] as const) {
        const work = next(this.#ways[way][0]!);
        const start = performance.now();
        await work();
        ms[way].push(performance.now() - start);
        await after?.();
      }
    }
    const figures = { apart: percentiles(ms.apart, 2), together: percentiles(ms.together, 2) };
    console.log(
      `ledger: an opening, ${what}: ${figures.apart?.p50} ms apart, ${figures.together?.p50} ms as a batch of one`,
    );
    return figures;
  }

  async #cost(
    holds: readonly NewHold[],
    services: number,
    work: (hold: NewHold, service: number) => Promise<unknown>,
  ): Promise<Cost> {
    const numbered = holds.map((hold, nth) => ({ hold, service: nth % services }));
    const spent = await this.#spent(() => inParallel(numbered, ({ hold, service }) => work(hold, service)));
    return {
      perSecond: holds.length / spent.seconds,
      serviceMs: (spent.serviceSeconds * 1e3) / holds.length,
      serverMs: (spent.serverSeconds * 1e3) / holds.length,
      walBytes: spent.walBytes / holds.length,
    };
  }

  async #spent(work: () => Promise<unknown>): Promise<Spent> {
    const wal = await this.#walBytes();
    const [server, own, start] = [await this.#serverSeconds(), process.cpuUsage(), performance.now()];
    await work();
    const seconds = (performance.now() - start) / 1e3;
    const { user, system } = process.cpuUsage(own);
    return {
      seconds,
      serviceSeconds: (user + system) / 1e6,
      serverSeconds: (await this.#serverSeconds()) - server,
      walBytes: (await this.#walBytes()) - wal,
    };
  }

  async #walBytes(): Promise<number> {
    const [row] = await this.#sql<{ bytes: string }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes`;
    return Number(row!.bytes);
  }

  /** Returns the CPU time of the server's processes, none of which ends while the bench runs. */
  async #serverSeconds(): Promise<number> {
    const children = await readFile(`/proc/${this.#server}/task/${this.#server}/children`, "utf8");
    return children
      .trim()
      .split(" ")
      .reduce((sum, pid) => sum + cpuSecondsOf(Number(pid)), 0);
  }

  #newHold(organization: number): NewHold {
    const id = `ses_${randomBytes(12).toString("hex")}`;
    const quantity = { units: 60 * 16_000, unitsPerSecond: 16_000 };
    const organizationId = name(organization);
    return { id, organizationId, serviceId: SERVICE, kind: "live", quantity, tariff: DEFAULT_TARIFFS.live };
  }
}

interface Spent {
  readonly seconds: number;
  readonly serviceSeconds: number;
  readonly serverSeconds: number;
  readonly walBytes: number;
}

/** Changes holds as the previous version did, with a statement or a transaction each. */
function apart(sql: Sql): Way {
  const holds = new Holds(sql);
  return {
    open: ({ id, organizationId, serviceId, kind, quantity, tariff, limit }) => sql`
      select outcome, covered, available from open_hold(
        ${id}, ${organizationId}, ${serviceId}, ${kind}, 0::bigint, ${quantity.unitsPerSecond}::bigint,
        ${tariff.credits}::bigint, ${tariff.perUnits}::bigint, null, null,
        ${CREDITS}::bigint, 1::bigint, ${limit?.atOnce ?? null}::integer, ${[...(limit?.over ?? [])]}::text[])`,
    extend: ({ id }) => holds.extend(id, 2 * CREDITS),
    post: ({ id, quantity }) => holds.post(id, quantity.units, "settled"),
  };
}

function together(sql: Sql): Way {
  const changes = new HoldChanges(sql);
  return {
    open: (hold) => changes.openUpTo(hold, 1),
    extend: (hold) => changes.extend(hold, 2 * CREDITS),
    post: (hold) => changes.post(hold, hold.quantity.units, "settled"),
  };
}

/** Writes the journal as the previous version did, with a row per hold. */
async function journalInHolds(sql: Sql, acceptedById: ReadonlyMap<string, number>): Promise<void> {
  await sql`
    update holds set units = greatest(holds.units, journal.units)
    from unnest(${[...acceptedById.keys()]}::text[], ${[...acceptedById.values()]}::bigint[]) as journal (id, units)
    where holds.id = journal.id and holds.state = 'open'
    returning holds.id`;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const client = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

function name(organization: number): string {
  return `org_bench_${organization}`;
}

async function enterOrganizations(sql: Sql): Promise<void> {
  await sql`
    insert into organizations (id, name)
    select 'org_bench_' || nth, 'bench' from generate_series(0, ${ORGANIZATIONS - 1}::integer) as nth`;
  await sql`
    insert into accounts (id, organization_id, balance, held)
    select id, id, 1000000000, 0 from organizations where id like 'org_bench_%'`;
}

async function serverProcess(dataDir: string): Promise<number> {
  const [pid] = (await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n");
  return Number(pid);
}

function middle(costs: readonly Cost[]): Cost {
  const median = (of: (cost: Cost) => number) =>
    costs.map(of).toSorted((a, b) => a - b)[Math.floor(costs.length / 2)]!;
  return {
    perSecond: median((cost) => cost.perSecond),
    serviceMs: median((cost) => cost.serviceMs),
    serverMs: median((cost) => cost.serverMs),
    walBytes: median((cost) => cost.walBytes),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
