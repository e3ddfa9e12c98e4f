import { randomBytes } from "node:crypto";
import type { Sql } from "postgres";
import { type KeyLimits, NO_KEY_LIMITS } from "../../../core/domain/key-limits.js";
import type { ConsoleKey, KeyMonth } from "../../../core/ports/console-store.js";
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
  /** No limits by default. */
  readonly limits?: KeyLimits;
}

/** A key that has ended, or whose previous secret has. */
export interface EndedKey {
  readonly id: string;
  readonly isRevoked: boolean;
  readonly isExpired: boolean;
  readonly rotations: number;
  /** When the previous secret expires, by the database's clock. */
  readonly previousUntilMs: number;
}

/** Number of months whose usage is listed with a key. */
const MOST_MONTHS = 12;

/** Manages the table `api_keys`. Raw keys are returned only on creation; the table stores hashes. */
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

  /** Creates a key for a member of the organization; null if the user is no longer a member. */
  async createBy(
    makerId: string,
    { organizationId, name, limits = NO_KEY_LIMITS }: NewApiKey,
  ): Promise<CreatedApiKey | null> {
    const rawKey = newRawKey();
    const { hash, prefix, lastFour } = toStoredKey(rawKey, this.#pepper);
    // Lock the creator's row: either their removal sees this key, or this statement sees their removal.
    const [made] = await this.#sql<{ id: string }[]>`
      with maker as (
        select user_id from memberships
        where organization_id = ${organizationId} and user_id = ${makerId} for share)
      insert into api_keys (id, organization_id, hash, prefix, last_four, name, monthly_credits, endpoints,
        expires_at, created_by)
      select ${newKeyId()}, ${organizationId}, ${hash}, ${prefix}, ${lastFour}, ${name}, ${this.#limits(limits)},
        user_id from maker
      returning id`;
    if (made === undefined) return null;
    const key = (await this.list(organizationId)).find(({ id }) => id === made.id);
    return { ...key!, rawKey };
  }

  /** Creates a key with the given raw form, unless it exists. */
  async ensure(wanted: NewApiKey, rawKey: string): Promise<void> {
    await this.#insert(wanted, toStoredKey(rawKey, this.#pepper));
  }

  /** Lists the keys of one organization or of all, oldest first, including revoked ones. */
  async list(organizationId: string | null = null): Promise<ApiKey[]> {
    const rows = await this.#sql<KeyRow[]>`
      select ${this.#columns()}, created_by as "makerId", email as "makerEmail"
      from api_keys left join users on users.id = created_by
      where ${organizationId}::text is null or organization_id = ${organizationId}
      order by api_keys.created_at, api_keys.id`;
    return rows.map(toKey);
  }

  /** Finds a key by its ID, even if it is revoked. */
  async find(id: string): Promise<ApiKey | null> {
    const [row] = await this.#sql<KeyRow[]>`
      select ${this.#columns()}, created_by as "makerId", email as "makerEmail"
      from api_keys left join users on users.id = created_by where api_keys.id = ${id}`;
    return row === undefined ? null : toKey(row);
  }

  /** Changes the given limits of a key. Null if there is no such active key. */
  async setLimits(id: string, limits: Partial<KeyLimits>): Promise<ApiKey | null> {
    const { monthlyCredits, endpoints, expiresAt } = limits;
    const given = (value: unknown) => value !== undefined;
    const [row] = await this.#sql<KeyRow[]>`
      with changed as (
        update api_keys set
          monthly_credits = case when ${given(monthlyCredits)} then ${monthlyCredits ?? null}::bigint else monthly_credits end,
          endpoints = case when ${given(endpoints)} then ${toArray(endpoints)}::text[] else endpoints end,
          expires_at = case when ${given(expiresAt)} then ${expiresAt ?? null}::timestamptz else expires_at end
        where id = ${id} and revoked_at is null returning *)
      select ${this.#columns("changed")}, created_by as "makerId", email as "makerEmail"
      from changed left join users on users.id = created_by`;
    return row === undefined ? null : toKey(row);
  }

  /**
   * Replaces the secret of a key. The old secret stays valid for `overlapSeconds`; one that was still valid
   * from an earlier rotation ends now. Null if there is no such active key.
   */
  async rotate(id: string, overlapSeconds: number): Promise<CreatedApiKey | null> {
    const rawKey = newRawKey();
    const { hash, prefix, lastFour } = toStoredKey(rawKey, this.#pepper);
    const [row] = await this.#sql<KeyRow[]>`
      with changed as (
        update api_keys set hash = ${hash}, prefix = ${prefix}, last_four = ${lastFour}, rotations = rotations + 1,
          previous_hash = hash, previous_until = now() + make_interval(secs => ${overlapSeconds}::float8)
        where id = ${id} and key_is_active(api_keys, rotations) returning *)
      select ${this.#columns("changed")}, created_by as "makerId", email as "makerEmail"
      from changed left join users on users.id = created_by`;
    return row === undefined ? null : { ...toKey(row), rawKey };
  }

  /** Revokes a key. If it was already revoked, the first date stays. Null if there is no such key. */
  async revoke(id: string): Promise<ApiKey | null> {
    const [row] = await this.#sql<KeyRow[]>`
      with changed as (
        update api_keys set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning *)
      select ${this.#columns("changed")}, created_by as "makerId", email as "makerEmail"
      from changed left join users on users.id = created_by`;
    return row === undefined ? null : toKey(row);
  }

  /**
   * Returns those of `ids` that are revoked or expired, or whose secret was replaced. Accepts any number of
   * IDs.
   */
  async endedAmong(ids: readonly string[]): Promise<readonly EndedKey[]> {
    if (ids.length === 0) return [];
    return await this.#sql<EndedKey[]>`
      select id, revoked_at is not null as "isRevoked", coalesce(expires_at <= now(), false) as "isExpired",
        rotations, coalesce(${this.#epochMs("previous_until")}, 0) as "previousUntilMs"
      from api_keys
      where id = any(${[...ids]}::text[]) and (revoked_at is not null or expires_at <= now() or rotations > 0)`;
  }

  /**
   * Finds an active key by the hash of its raw form. An organization that has ever paid is no longer on the
   * free tier. The subquery reads a few rows through the index `transfers_by_credit`, because transfers to an
   * organization are rare.
   */
  async findActive(hash: Buffer): Promise<KeyIdentity | null> {
    const [row] = await this.#sql<IdentityRow[]>`
      select id as "keyId", organization_id as "organizationId", endpoints, secret,
        case when secret = rotations then ${this.#epochMs("expires_at")}
          else ${this.#epochMs("least(expires_at, previous_until)")} end as "endsAtMs",
        case when exists (
          select 1 from transfers where credit_account = found.organization_id and kind = 'topup'
        ) then 'paid' else 'free' end as tier
      from (
        select *, case when hash = ${hash} then rotations else rotations - 1 end as secret
        from api_keys where hash = ${hash} or previous_hash = ${hash}
      ) as found
      where exists (
        select from api_keys where api_keys.id = found.id and key_is_active(api_keys, found.secret))`;
    return row === undefined ? null : toIdentity(row);
  }

  /** Records that a key was used now. */
  async touch(id: string): Promise<void> {
    await this.#sql`update api_keys set last_used_at = now() where id = ${id}`;
  }

  async #insert(wanted: NewApiKey, stored: StoredKey): Promise<ApiKey | undefined> {
    const { organizationId, name, limits = NO_KEY_LIMITS } = wanted;
    const [row] = await this.#sql<Omit<KeyRow, "makerId" | "makerEmail">[]>`
      insert into api_keys (id, organization_id, hash, prefix, last_four, name, monthly_credits, endpoints, expires_at)
      select ${newKeyId()}, ${organizationId}, ${stored.hash}, ${stored.prefix}, ${stored.lastFour}, ${name},
        ${this.#limits(limits)}
      where not exists (select from api_keys where previous_hash = ${stored.hash})
      on conflict (hash) do nothing
      returning ${this.#columns()}`;
    return row === undefined ? undefined : toKey({ ...row, makerId: null, makerEmail: null });
  }

  /** Values of the columns `monthly_credits`, `endpoints` and `expires_at`. */
  #limits({ monthlyCredits, endpoints, expiresAt }: KeyLimits) {
    return this.#sql`${monthlyCredits}::bigint, ${toArray(endpoints)}::text[], ${expiresAt}::timestamptz`;
  }

  #epochMs(expression: string) {
    return this.#sql.unsafe(`(extract(epoch from ${expression}) * 1000)::float8`);
  }

  #columns(table = "api_keys") {
    const column = (name: string) => this.#sql(`${table}.${name}`);
    return this.#sql`
      ${column("id")}, organization_id as "organizationId", prefix, last_four as "lastFour", name,
      ${column("created_at")} as "createdAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt",
      monthly_credits as "monthlyCredits", endpoints, expires_at as "expiresAt", rotations,
      case when previous_until > now() then previous_until end as "previousUntil",
      to_char(month_of(now()), 'YYYY-MM') as "thisMonth",
      coalesce((
        select json_agg(
          json_build_object('month', to_char(month, 'YYYY-MM'), 'credits', charged, 'held', held) order by month desc)
        from (
          select * from key_months where key_id = ${column("id")} order by month desc limit ${MOST_MONTHS}
        ) as latest
      ), '[]') as usage`;
  }
}

interface KeyRow extends Omit<ApiKey, "maker"> {
  readonly thisMonth: string;
  readonly makerId: string | null;
  readonly makerEmail: string | null;
}

interface IdentityRow extends Pick<KeyIdentity, "keyId" | "organizationId" | "tier"> {
  readonly endpoints: KeyLimits["endpoints"];
  readonly secret: number;
  readonly endsAtMs: number | null;
}

function toKey({ makerId, makerEmail, thisMonth, usage, ...key }: KeyRow): ApiKey {
  const maker = makerId === null || makerEmail === null ? null : { id: makerId, email: makerEmail };
  const nothing: KeyMonth = { month: thisMonth, credits: 0, held: 0 };
  return { ...key, usage: usage[0]?.month === thisMonth ? usage : [nothing, ...usage], maker };
}

/** Omits members that most keys do not have, because identities travel in signed tokens. */
function toIdentity({ keyId, organizationId, tier, endpoints, secret, endsAtMs }: IdentityRow): KeyIdentity {
  return {
    ...{ keyId, organizationId, tier },
    ...(endpoints !== null && { endpoints }),
    ...(secret > 0 && { secret }),
    ...(endsAtMs !== null && { endsAtMs }),
  };
}

function toArray(endpoints: KeyLimits["endpoints"] | undefined): string[] | null {
  return endpoints == null ? null : [...endpoints];
}

function newKeyId(): string {
  return `key_${randomBytes(12).toString("hex")}`;
}
