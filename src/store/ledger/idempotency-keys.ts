import type { ISql, Sql } from "postgres";
import {
  KEPT_FOR_MS,
  type KeptAnswer,
  type KeyedRequest,
  type Paid,
} from "../../../core/ports/idempotency.js";
import { decideClaim, type LastAttempt } from "./claim-decision.js";

/** Most rows that one statement deletes, to keep it short. */
const REMOVED_AT_ONCE = 1_000;

export interface NewAttempt extends KeyedRequest {
  readonly serviceId: string;
}

/** The port's `Claim`, but without the functions of a running service. */
export type ClaimedRow =
  | { readonly type: "begun"; readonly paid: Paid | null }
  /**
   * `isSettling`: the work has ended and only its hold is still active, as is briefly the case after every
   * response.
   */
  | { readonly type: "in-use"; readonly isSettling: boolean }
  | { readonly type: "reused" }
  | { readonly type: "answered"; readonly answer: KeptAnswer };

/**
 * Manages the table `idempotency_keys`. Its primary key is the lock: of concurrent attempts, one inserts its
 * row and the others find it. Locks are taken in the order key, hold; no statement on holds reads keys.
 */
export class IdempotencyKeys {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Registers a running attempt. Replaces an earlier one that left nothing to replay. */
  async claim(attempt: NewAttempt): Promise<ClaimedRow> {
    for (;;) {
      if (await this.#insert(attempt)) return { type: "begun", paid: null };
      const claimed = await this.#sql.begin((transaction) => claimTaken(transaction, attempt));
      // Null means that the conflicting row was just deleted.
      if (claimed !== null) return claimed;
    }
  }

  /**
   * Stores the response of a running attempt. Returns false if the attempt was presumed over in the meantime.
   */
  async answer(
    requestId: string,
    { status, headers, bytes, body }: Pick<KeptAnswer, "status" | "headers" | "bytes" | "body">,
  ): Promise<boolean> {
    const rows = await this.#sql`
      update idempotency_keys set state = 'answered', answer_status = ${status},
        answer_headers = ${this.#sql.json(headers)}, answer_bytes = ${bytes},
        answer_body = ${body === null ? null : Buffer.from(body)}
      where request_id = ${requestId} and state = 'running'
      returning request_id`;
    return rows.length > 0;
  }

  /** Records the hash of the audio that a running attempt transcribes. */
  async noteAudio(requestId: string, audioSha256: Uint8Array): Promise<void> {
    await this.#sql`
      update idempotency_keys set audio_sha256 = ${Buffer.from(audioSha256)}
      where request_id = ${requestId} and state = 'running'`;
  }

  /**
   * Lists the organizations that have responses on disk, by the request ID under which each response is
   * stored.
   */
  async ownersOfLongAnswers(): Promise<Map<string, string>> {
    const rows = await this.#sql<{ request_id: string; organization_id: string }[]>`
      select request_id, organization_id from idempotency_keys where state = 'answered' and answer_body is null`;
    return new Map(rows.map((row) => [row.request_id, row.organization_id]));
  }

  /** Drops the oldest bodies of organizations that have more than `bytes`. Returns how many were dropped. */
  async dropBodiesBeyond(bytes: number): Promise<number> {
    const rows = await this.#sql`
      update idempotency_keys set answer_body = null where (organization_id, key) in (
        select organization_id, key from (
          select organization_id, key,
            sum(answer_bytes) over (partition by organization_id order by created_at desc, key) as bytes_through
          from idempotency_keys where answer_body is not null
        ) as kept where bytes_through > ${bytes}::bigint limit ${REMOVED_AT_ONCE}
      ) and state = 'answered'
      returning request_id`;
    return rows.length;
  }

  /** Ends a running attempt without storing a response. */
  async endAttempt(requestId: string): Promise<void> {
    await this.#sql`
      update idempotency_keys set state = 'over' where request_id = ${requestId} and state = 'running'`;
  }

  /** Lists the request IDs of a service's running attempts. */
  async listRunning(serviceId: string): Promise<string[]> {
    const rows = await this.#sql<{ request_id: string }[]>`
      select request_id from idempotency_keys where service_id = ${serviceId} and state = 'running'`;
    return rows.map(({ request_id }) => request_id);
  }

  async isKnown(organizationId: string, key: string): Promise<boolean> {
    const rows = await this.#sql`
      select from idempotency_keys where organization_id = ${organizationId} and key = ${key}`;
    return rows.length > 0;
  }

  /** Deletes expired keys, at most `REMOVED_AT_ONCE`. Returns how many were deleted. */
  async removeExpired(): Promise<number> {
    const rows = await this.#sql`
      delete from idempotency_keys where (organization_id, key) in (
        select organization_id, key from idempotency_keys
        where created_at < now() - ${KEPT_FOR_MS}::float8 * interval '1 millisecond'
          and not (state = 'running'
            and exists (select from service_instances where service_instances.id = service_id))
        order by created_at limit ${REMOVED_AT_ONCE} for update skip locked
      )
      returning request_id`;
    return rows.length;
  }

  async #insert({
    organizationId,
    key,
    fingerprint,
    kind,
    requestId,
    serviceId,
  }: NewAttempt): Promise<boolean> {
    const rows = await this.#sql`
      insert into idempotency_keys (organization_id, key, fingerprint, kind, request_id, service_id, state)
      values (${organizationId}, ${key}, ${Buffer.from(fingerprint)}, ${kind}, ${requestId}, ${serviceId}, 'running')
      on conflict (organization_id, key) do nothing
      returning request_id`;
    return rows.length > 0;
  }
}

interface KeyRow {
  readonly request_id: string;
  readonly kind: string;
  readonly service_id: string;
  readonly state: LastAttempt["state"];
  readonly is_same_request: boolean;
  readonly is_service_alive: boolean;
  readonly is_expired: boolean;
  readonly paid_request_id: string | null;
  readonly paid_units: number;
  readonly paid_credits: number;
  readonly audio_sha256: Uint8Array | null;
  readonly answer_status: number | null;
  readonly answer_headers: Record<string, string> | null;
  readonly answer_bytes: number | null;
  readonly answer_body: Uint8Array | null;
}

interface HoldRow {
  readonly state: NonNullable<LastAttempt["holdState"]>;
  readonly units: number;
  readonly amount: number | null;
  readonly held: number;
}

async function claimTaken(transaction: ISql, attempt: NewAttempt): Promise<ClaimedRow | null> {
  const [row] = await transaction<KeyRow[]>`
    select request_id, kind, service_id, state, fingerprint = ${Buffer.from(attempt.fingerprint)} as is_same_request,
      exists (select from service_instances where service_instances.id = service_id) as is_service_alive,
      created_at < now() - ${KEPT_FOR_MS}::float8 * interval '1 millisecond' as is_expired,
      paid_request_id, paid_units, paid_credits, audio_sha256, answer_status, answer_headers, answer_bytes, answer_body
    from idempotency_keys where organization_id = ${attempt.organizationId} and key = ${attempt.key}
    for update`;
  if (row === undefined) return null;
  // A separate statement after the lock: as part of the first one, it would see the hold as it was before the
  // wait.
  const [hold] = await transaction<HoldRow[]>`
    select state, units, amount, held from holds where id = ${row.request_id}`;
  const paid = paidSoFar(row, hold);
  const decision = decideClaim({
    state: row.state,
    isSameRequest: row.is_same_request,
    isServiceAlive: row.is_service_alive,
    isExpired: row.is_expired,
    holdState: hold?.state ?? null,
    paidUnits: paid?.units ?? 0,
    isWhollyPaid: paid !== null && (hold === undefined || (isCharged(hold) && hold.amount === hold.held)),
    isAnswerLost: row.request_id === attempt.lostAnswerOf,
  });
  switch (decision.type) {
    case "replay":
      return { type: "answered", answer: answerOf(row, paid) };
    case "take-over": {
      if (decision.mayOpenHold && !(await forbidHold(transaction, attempt.organizationId, row)))
        return { type: "in-use", isSettling: true };
      const kept = decision.isPaidKept ? paid : null;
      await takeOver(transaction, attempt, kept);
      return { type: "begun", paid: kept };
    }
    case "in-use":
      return { type: "in-use", isSettling: row.state !== "running" };
    case "reused":
      return decision;
  }
}

/** Adds the last attempt's charge to those of earlier attempts. */
function paidSoFar(row: KeyRow, hold: HoldRow | undefined): Paid | null {
  const last = hold !== undefined && isCharged(hold) ? hold : null;
  const units = row.paid_units + (last?.units ?? 0);
  const credits = row.paid_credits + (last?.amount ?? 0);
  const requestId = row.paid_request_id ?? (last === null ? null : row.request_id);
  if (requestId === null) return null;
  const { audio_sha256: audioSha256 } = row;
  return { requestId, units, credits, ...(audioSha256 !== null && { audioSha256 }) };
}

function isCharged({ state, units }: HoldRow): boolean {
  return state === "settled" && units > 0;
}

function answerOf(row: KeyRow, paid: Paid | null): KeptAnswer {
  return {
    requestId: row.request_id,
    chargedRequestId: paid?.requestId ?? row.request_id,
    status: row.answer_status ?? 0,
    headers: row.answer_headers ?? {},
    bytes: row.answer_bytes ?? 0,
    body: row.answer_body,
  };
}

/**
 * Inserts a voided hold unless there already is one, so that a service that was wrongly presumed stopped can
 * no longer open it and charge for the work twice. Returns false if there is one.
 */
async function forbidHold(transaction: ISql, organizationId: string, row: KeyRow): Promise<boolean> {
  const rows = await transaction`
    insert into holds (id, organization_id, service_id, kind, state, units, units_per_second, tariff_credits,
      tariff_per_units, held, closed_at)
    values (${row.request_id}, ${organizationId}, ${row.service_id}, ${row.kind}, 'voided', 0, 1, 1, 1, 0, now())
    on conflict (id) do nothing
    returning id`;
  return rows.length > 0;
}

async function takeOver(transaction: ISql, attempt: NewAttempt, paid: Paid | null): Promise<void> {
  await transaction`
    update idempotency_keys set fingerprint = ${Buffer.from(attempt.fingerprint)}, kind = ${attempt.kind},
      request_id = ${attempt.requestId}, service_id = ${attempt.serviceId}, state = 'running',
      paid_request_id = ${paid?.requestId ?? null}, paid_units = ${paid?.units ?? 0},
      paid_credits = ${paid?.credits ?? 0},
      audio_sha256 = ${paid?.audioSha256 == null ? null : Buffer.from(paid.audioSha256)}, answer_status = null,
      answer_headers = null, answer_bytes = null, answer_body = null, created_at = now()
    where organization_id = ${attempt.organizationId} and key = ${attempt.key}`;
}
