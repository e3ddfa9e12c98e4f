import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import { connect } from "../../../src/store/postgres/connect.js";
import type { PostgresConnection } from "../../../src/store/postgres/embedded-postgres.js";
import { brokenRules } from "../../store/ledger/ledger-support.js";
import { dauysInTurn } from "../../support/command-process.js";
import { eventually } from "../../support/eventually.js";
import { type ServiceProcess, startServiceProcess } from "../../support/service-process.js";
import { SILENT } from "../../support/silent-log.js";

/** A front to attack, with the settings that select it. */
export interface AttackedFront {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
}

const NODE: AttackedFront = { name: "node", environment: { FRONT: "node" } };
const NATIVE: readonly AttackedFront[] = [
  { name: "uws", environment: { FRONT: "uws" } },
  { name: "uws in two threads", environment: { FRONT: "uws", FRONT_THREADS: "2" } },
];

/** Fronts that can run here. */
export const ATTACKED_FRONTS: readonly AttackedFront[] =
  typeof loadUwsBinding() === "string" ? [NODE] : [...NATIVE, NODE];

const IDLE_WITHIN_MS = 60_000;

/** The real service on one front, observed from outside. */
export class AttackedService {
  readonly front: AttackedFront;
  readonly process: ServiceProcess;

  private constructor(front: AttackedFront, process: ServiceProcess) {
    this.front = front;
    this.process = process;
  }

  static async start(
    front: AttackedFront,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<AttackedService> {
    // Response times are measured, so models must be loaded first.
    const settings = { MODEL_PRELOAD: "true", ...front.environment, ...environment };
    return new AttackedService(front, await startServiceProcess(settings));
  }

  get port(): number {
    return this.process.port;
  }

  get url(): string {
    return this.process.url;
  }

  /** A key of the development organization. */
  get key(): string {
    return this.process.key;
  }

  get isAlive(): boolean {
    return this.process.child.exitCode === null && this.process.child.signalCode === null;
  }

  /** Lists the files of uploads and fetches in the data folder. */
  spooledFiles(): string[] {
    return readdirSync(join(this.process.dataDir, "spool"));
  }

  /** Counts the service's open file descriptors. */
  descriptors(): number {
    return readdirSync(`/proc/${this.process.child.pid}/fd`).length;
  }

  /** Uses a separate connection, so that it never waits for other requests. */
  async healthStatus(): Promise<number> {
    const answer = await fetch(`${this.url}/health`, { headers: { connection: "close" } });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Runs an operator command on the service's data, and returns its JSON output. */
  async operator(...args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await dauysInTurn([...args, "--json"], {
      env: { DATA_DIR: this.process.dataDir },
    });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  }

  /** Creates an organization on the free tier, with a key. */
  async newCustomer(): Promise<{ readonly id: string; readonly key: string }> {
    const { id } = (await this.operator("orgs", "create", "customer")) as { id: string };
    const { key } = (await this.operator("keys", "create", "--org", id)) as { key: string };
    return { id, key };
  }

  /** Waits until no client's work is left: no open hold and no spooled file. */
  async untilIdle(): Promise<void> {
    await this.#withDatabase(async (sql) => {
      await eventually(
        "no work is left",
        async () => {
          const open = await sql`select id from holds where state in ('open', 'posted')`;
          return open.length === 0 && this.spooledFiles().length === 0;
        },
        IDLE_WITHIN_MS,
      );
    });
  }

  /** Returns broken rules of the ledger, as rows that say where; empty if it is consistent. */
  async brokenRules(): Promise<readonly object[]> {
    return this.#withDatabase(brokenRules);
  }

  /** Returns the credits charged to an organization so far, minus refunds. */
  async chargedTo(organizationId: string): Promise<number> {
    return this.#withDatabase(async (sql) => {
      const [row] = await sql<{ charged: string }[]>`
        select coalesce(sum(amount), 0) as charged from holds where organization_id = ${organizationId}`;
      return Number(row?.charged);
    });
  }

  /** Returns the credits charged to an organization or held for its running work. */
  async chargedOrHeld(organizationId: string): Promise<number> {
    return this.#withDatabase(async (sql) => {
      const [row] = await sql<{ credits: string }[]>`
        select coalesce(sum(greatest(amount, case when state = 'open' then held else 0 end)), 0) as credits
        from holds where organization_id = ${organizationId}`;
      return Number(row?.credits);
    });
  }

  /**
   * Waits until all work has ended, then asserts that the service runs, the ledger is consistent and no files
   * remain.
   */
  async assertSound(): Promise<void> {
    assert.ok(this.isAlive, `the service ended by itself:\n${this.process.output()}`);
    await this.untilIdle();
    assert.deepEqual(await this.brokenRules(), []);
  }

  /** Calls `assertSound`, then stops the service. */
  async stopSound(): Promise<void> {
    await this.assertSound();
    assert.equal(await this.process.stop(), 0, this.process.output());
  }

  async #withDatabase<T>(use: (sql: ReturnType<typeof connect>) => Promise<T>): Promise<T> {
    const text = readFileSync(join(this.process.dataDir, "postgres.json"), "utf8");
    const sql = connect(JSON.parse(text) as PostgresConnection, SILENT);
    try {
      return await use(sql);
    } finally {
      await sql.end();
    }
  }
}
