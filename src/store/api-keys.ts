import { randomBytes } from "node:crypto";
import type { Sql } from "postgres";
import type { KeyIdentity } from "../ports/key-store.js";
import { type KeyTraces, newRawKey, tracesOf } from "./key-secret.js";

/** A key as it is shown in lists. */
export interface ApiKey {
  readonly id: string;
  readonly organizationId: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** A key at the only moment when its raw form is known. */
export interface CreatedApiKey extends ApiKey {
  readonly rawKey: string;
}

export interface NewApiKey {
  readonly organizationId: string;
  readonly name: string;
}

/** The table `api_keys`. Raw keys come in to be hashed and go out once, when they are made. */
export class ApiKeys {
  readonly #sql: Sql;
  readonly #pepper: string;

  constructor(sql: Sql, pepper: string) {
    this.#sql = sql;
    this.#pepper = pepper;
  }

  async create(wanted: NewApiKey): Promise<CreatedApiKey> {
    const rawKey = newRawKey();
    const key = await this.#insert(wanted, tracesOf(rawKey, this.#pepper));
    return { ...key!, rawKey };
  }

  /** Makes a key with a raw form that was chosen elsewhere, unless a key with that raw form is there. */
  async ensure(wanted: NewApiKey, rawKey: string): Promise<void> {
    await this.#insert(wanted, tracesOf(rawKey, this.#pepper));
  }

  /** Keys of one organization or of all, oldest first; revoked ones too. */
  async list(organizationId: string | null = null): Promise<ApiKey[]> {
    return await this.#sql<ApiKey[]>`
      select ${this.#columns()} from api_keys
      where ${organizationId}::text is null or organization_id = ${organizationId}
      order by created_at, id`;
  }

  /** Revokes a key for good; a key that is revoked keeps its first date. Null when there is no such key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const [row] = await this.#sql<ApiKey[]>`
      update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning ${this.#columns()}`;
    return row ?? null;
  }

  /**
   * Who an active key belongs to, by the hash of its raw form. Whoever has paid once is no longer on the free grant; of
   * the credits an organization was given there are few, so this reads a handful of rows through `transfers_by_credit`.
   */
  async findActive(hash: Buffer): Promise<KeyIdentity | null> {
    const [row] = await this.#sql<KeyIdentity[]>`
      select id as "keyId", organization_id as "organizationId",
        case when exists (
          select 1 from transfers where credit_account = api_keys.organization_id and kind = 'topup'
        ) then 'paid' else 'free' end as tier
      from api_keys where hash = ${hash} and revoked_at is null`;
    if (row === undefined) return null;
    const { keyId, organizationId, tier } = row;
    return { keyId, organizationId, tier };
  }

  /** Notes that a key was used now. */
  async touch(id: string): Promise<void> {
    await this.#sql`update api_keys set last_used_at = now() where id = ${id}`;
  }

  async #insert(wanted: NewApiKey, traces: KeyTraces): Promise<ApiKey | undefined> {
    const id = `key_${randomBytes(12).toString("hex")}`;
    const [row] = await this.#sql<ApiKey[]>`
      insert into api_keys (id, organization_id, hash, prefix, last_four, name)
      values (${id}, ${wanted.organizationId}, ${traces.hash}, ${traces.prefix}, ${traces.lastFour}, ${wanted.name})
      on conflict (hash) do nothing
      returning ${this.#columns()}`;
    return row;
  }

  #columns() {
    return this.#sql`
      id, organization_id as "organizationId", prefix, last_four as "lastFour", name,
      created_at as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;
  }
}
