import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "postgres";
import { runLive } from "../../../bench/support/live-client.js";
import { writeWav } from "../../../core/domain/audio/wav.js";
import { newRawKey } from "../../../src/store/accounts/key-secret.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { brokenRules } from "../../store/ledger/ledger-support.js";
import { eventually } from "../../support/eventually.js";
import { pace } from "../../support/pace.js";
import { synthesisCredits } from "../../support/prices.js";
import type { ServiceProcess } from "../../support/service-process.js";
import { SILENT } from "../../support/silent-log.js";

const SETTLED_WITHIN_MS = 60_000;
/** A request that has neither a response nor an error by then was lost by the service. */
const ANSWER_WITHIN_MS = 60_000;
/**
 * Shorter than any work. Without this pause, requests that are rejected immediately would be repeated
 * thousands of times.
 */
const PAUSE_MS = 40;
/** Statuses of rejections caused by a server error or by too many simultaneous requests. */
const EXPECTED_REFUSALS = [429, 503];

/** Connects to the private database of a running service, as an operator command does. */
export async function databaseOf(dataDir: string): Promise<Sql> {
  return connect(JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")), SILENT);
}

interface ChargeRow {
  readonly id: string;
  readonly kind: string;
  readonly amount: string;
}

/** Clients that repeatedly request every kind of billed work, and record the charges. */
export class PayingClients {
  readonly #services: readonly ServiceProcess[];
  #nextService = 0;
  /** Credits by charge ID, as reported to clients. */
  readonly #charged = new Map<string, number>();
  readonly #working: Promise<void>[] = [];
  readonly #since = new Date();
  #isOver = false;
  /** Distinguishes these clients' keys from those of earlier clients of the same organization. */
  readonly #keyPrefix = randomUUID();
  #keyCount = 0;
  refusedCount = 0;

  /** @param services share a database and a key; the clients use them in turn */
  constructor(...services: readonly ServiceProcess[]) {
    this.#services = services;
  }

  get answeredCount(): number {
    return this.#charged.size;
  }

  start(): void {
    const asks = [
      () => this.#speak("/v1/tts"),
      () => this.#speak("/v1/tts/stream"),
      () => this.#speak("/v1/tts", `${this.#keyPrefix}-${this.#keyCount++}`),
      () => this.#transcribe(),
      () => this.#listen(),
      () => this.#look("/v1/stream/token", this.#services[0]!.key),
      () => this.#look("/v1/stream/token", newRawKey()),
    ];
    for (const ask of asks) this.#working.push(this.#repeat(ask));
  }

  /** Waits for all open requests. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
  }

  /** Records the charge of another client's synthesis. */
  note(answer: Response): void {
    const credits = synthesisCredits(Number(answer.headers.get("x-svc-chars")));
    this.#charged.set(answer.headers.get("x-request-id") ?? "", credits);
  }

  /** Checks that every recorded charge is in the ledger exactly once, and that the ledger has no others. */
  async checkLedger(sql: Sql): Promise<void> {
    await eventually(
      "no hold left",
      async () => (await sql`select id from holds where state in ('open', 'posted')`).length === 0,
      SETTLED_WITHIN_MS,
    );
    assert.deepEqual(await brokenRules(sql), []);
    const rows = await this.#chargesIn(sql);
    const missing = this.#missingAmong(rows);
    const found = await sql`select * from holds where id in ${sql(["", ...missing.map(([id]) => id)])}`;
    assert.deepEqual(missing, [], `receipts that the ledger does not know: ${JSON.stringify(found)}`);
    // A live session that was cut off is charged for the audio it had accepted.
    const unanswered = rows.filter(({ id, kind }) => kind !== "live" && !this.#charged.has(id));
    assert.deepEqual(unanswered, [], "charges without an answer");
    const held = await sql`select organization_id from accounts where held > 0`;
    assert.deepEqual([...held], [], "credits that are still held");
  }

  /** Counts recorded charges that are not in the ledger. */
  async countForgotten(sql: Sql): Promise<number> {
    return this.#missingAmong(await this.#chargesIn(sql)).length;
  }

  async #chargesIn(sql: Sql): Promise<readonly ChargeRow[]> {
    return await sql<ChargeRow[]>`
      select id, kind, amount from holds where opened_at > ${this.#since} and amount > 0`;
  }

  #missingAmong(rows: readonly ChargeRow[]): (readonly [string, number])[] {
    const amounts = new Map(rows.map(({ id, amount }) => [id, Number(amount)]));
    return [...this.#charged].filter(([id, credits]) => (amounts.get(id) ?? 0) !== credits);
  }

  async #repeat(ask: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await ask();
      await pace(PAUSE_MS);
    }
  }

  async #speak(path: string, idempotencyKey?: string): Promise<void> {
    const answer = await this.#post(path, {
      headers: {
        "content-type": "application/json",
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify({ text: "Сәлем.", nfe: 4 }),
    });
    await this.#note(answer, () => synthesisCredits(Number(answer.headers.get("x-svc-chars"))));
  }

  async #transcribe(): Promise<void> {
    const body = new Uint8Array(writeWav(new Int16Array(8_000), 8_000));
    const answer = await this.#post("/v1/transcribe", { body });
    await this.#note(answer, () => Number(answer.headers.get("x-svc-credits")));
  }

  async #look(path: string, key: string): Promise<void> {
    const answer = await this.#post(path, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    assert.ok([200, 401, ...EXPECTED_REFUSALS].includes(answer.status), `${path}: ${answer.status}`);
    if (answer.status === 503) this.refusedCount++;
  }

  async #listen(): Promise<void> {
    const { url, key } = this.#someService();
    const pcm = new Int16Array(16_000);
    // If a session is rejected before its upgrade, the client sees a socket error.
    const run = await runLive({ url, key, pcm, messageSamples: 1_600, isPaced: true }).catch(() => null);
    if (run === null || run.closeCode !== 1000) this.refusedCount++;
    let session = "";
    for (const { message } of run?.received ?? []) {
      if (message.type === "ready") session = message.session_id;
      if (message.type === "done") this.#charged.set(session, message.credits_charged);
    }
  }

  #someService(): ServiceProcess {
    return this.#services[this.#nextService++ % this.#services.length]!;
  }

  async #post(path: string, init: RequestInit): Promise<Response> {
    const { url, key } = this.#someService();
    return fetch(url + path, {
      method: "POST",
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
  }

  async #note(answer: Response, credits: () => number): Promise<void> {
    const body = Buffer.from(await answer.arrayBuffer());
    if (answer.status === 200) {
      this.#charged.set(answer.headers.get("x-request-id") ?? "", credits());
      return;
    }
    assert.ok(EXPECTED_REFUSALS.includes(answer.status), `${answer.status}: ${body.toString()}`);
    if (answer.status !== 503) return;
    this.refusedCount++;
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
  }
}
