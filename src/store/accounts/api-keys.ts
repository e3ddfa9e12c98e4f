import { randomBytes } from "node:crypto";
import type { Sql } from "postgres";
import type { ConsoleKey } from "../../../core/ports/console-store.js";
import type { KeyIdentity } from "../../../core/ports/key-store.js";
import { newRawKey, type StoredKey, toStoredKey } from "./key-secret.js";

export interface ApiKey extends ConsoleKey {
  readonly organizationId: string;
}

export interface CreatedApiKey extends ApiKey {
  readonly rawKey: string;
}

export interface NewApiKey {
  readonly organizationId: string;
  readonly name: string;
}

/** Keeps the table `api_keys`. Raw keys are returned once, on creation, and stored as hashes. */
export class ApiKeys {
  readonly #sql: Sql;
  readonly #pepper: string;

  constructor(sql: Sql, pepper: string) {
    this.#sql = sql;
    this.#pepper = pepper;
  }

  async create(wanted: NewApiKey): Promise<CreatedApiKey> {
    const rawKey = newRawKey();
    const key = await this.#insert(wanted, toStoredKey(rawKey, this.#pepper));
    return { ...key!, rawKey };
  }

  /** Creates a key for a member of the organization; null when the user is not a member any more. */
  async createBy(makerId: string, { organizationId, name }: NewApiKey): Promise<CreatedApiKey | null> {
    const rawKey = newRawKey();
    const { hash, prefix, lastFour } = toStoredKey(rawKey, this.#pepper);
    // Locks the creator's row: either their removal sees this key, or this statement sees their removal.
    const [made] = await this.#sql<{ id: string }[]>`
      with maker as (
        select user_id from memberships
        where organization_id = ${organizationId} and user_id = ${makerId} for share)
      insert into api_keys (id, organization_id, hash, prefix, last_four, name, created_by)
      select ${newKeyId()}, ${organizationId}, ${hash}, ${prefix}, ${lastFour}, ${name}, user_id from maker
      returning id`;
    if (made === undefined) return null;
    const key = (await this.list(organizationId)).find(({ id }) => id === made.id);
    return { ...key!, rawKey };
  }

  /** Creates a key with a given raw form, unless it exists. */
  async ensure(wanted: NewApiKey, rawKey: string): Promise<void> {
    await this.#insert(wanted, toStoredKey(rawKey, this.#pepper));
  }

  /** Lists keys of one organization or of all, oldest first, including revoked ones. */
  async list(organizationId: string | null = null): Promise<ApiKey[]> {
    const rows = await this.#sql<KeyRow[]>`
      select ${this.#columns()}, created_by as "makerId", email as "makerEmail"
      from api_keys left join users on users.id = created_by
      where ${organizationId}::text is null or organization_id = ${organizationId}
      order by api_keys.created_at, api_keys.id`;
    return rows.map(toKey);
  }

  /** Revokes a key; a revoked key keeps its first date. Null when there is no such key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const [row] = await this.#sql<KeyRow[]>`
      with changed as (
        update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning *)
      select ${this.#columns("changed")}, created_by as "makerId", email as "makerEmail"
      from changed left join users on users.id = created_by`;
    return row === undefined ? null : toKey(row);
  }

  /** Returns those of `ids`, any number, that are revoked keys. */
  async revokedAmong(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const rows = await this.#sql<{ id: string }[]>`
      select id from api_keys where id = any(${[...ids]}::text[]) and revoked_at is not null`;
    return rows.map(({ id }) => id);
  }

  /**
   * Finds an active key by the hash of its raw form. An organization that has paid once is no longer on the
   * free grant; the subquery reads a few rows through the index `transfers_by_credit`, because transfers to
   * an organization are rare.
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

  /** Records that a key was used now. */
  async touch(id: string): Promise<void> {
    await this.#sql`update api_keys set last_used_at = now() where id = ${id}`;
  }

  async #insert(wanted: NewApiKey, stored: StoredKey): Promise<ApiKey | undefined> {
    const [row] = await this.#sql<Omit<ApiKey, "maker">[]>`
      insert into api_keys (id, organization_id, hash, prefix, last_four, name)
      values (${newKeyId()}, ${wanted.organizationId}, ${stored.hash}, ${stored.prefix}, ${stored.lastFour},
        ${wanted.name})
      on conflict (hash) do nothing
      returning ${this.#columns()}`;
    return row === undefined ? undefined : { ...row, maker: null };
  }

  #columns(table = "api_keys") {
    const column = (name: string) => this.#sql(`${table}.${name}`);
    return this.#sql`
      ${column("id")}, organization_id as "organizationId", prefix, last_four as "lastFour", name,
      ${column("created_at")} as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;
  }
}

interface KeyRow extends Omit<ApiKey, "maker"> {
  readonly makerId: string | null;
  readonly makerEmail: string | null;
}

function toKey({ makerId, makerEmail, ...key }: KeyRow): ApiKey {
  const maker = makerId === null || makerEmail === null ? null : { id: makerId, email: makerEmail };
  return { ...key, maker };
}

function newKeyId(): string {
  return `key_${randomBytes(12).toString("hex")}`;
}
