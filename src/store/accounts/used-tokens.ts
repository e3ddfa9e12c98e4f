import type { Sql } from "postgres";
import type { Log } from "../../../core/observe/log.js";
import type { TokenUses, UsedToken } from "../../../core/ports/token-uses.js";
import { orUnavailable } from "../postgres/within.js";

/** A use is kept longer than its token is valid, because the clock may be set back a little. */
const KEPT_S = 600;

/** Manages the table `used_tokens`, with one row per recently used stream token. */
export class UsedTokens implements TokenUses {
  readonly #sql: Sql;
  readonly #log: Log;

  constructor(sql: Sql, log: Log) {
    this.#sql = sql;
    this.#log = log;
  }

  use(token: UsedToken): Promise<boolean> {
    return orUnavailable(this.#use(token), "stream tokens cannot be checked at the moment", (cause) => {
      this.#log.warn({ err: cause }, "could not record the use of a stream token");
    });
  }

  async #use({
    id,
    untilMs,
    identity: { keyId, organizationId, grant, secret = 0 },
  }: UsedToken): Promise<boolean> {
    const session = grant === undefined ? null : Buffer.from(grant.session, "base64url");
    const rows = await this.#sql`
      insert into used_tokens (id, expires_at)
      select ${Buffer.from(id)}, to_timestamp(${untilMs / 1_000}::float8)
      where not exists (select from api_keys where id = ${keyId} and not key_is_active(api_keys, ${secret}))
        and (${session}::bytea is null or exists (
          select from sessions join memberships using (user_id)
          where hash = ${session}::bytea and organization_id = ${organizationId} and expires_at > now()))
      on conflict (id) do nothing returning id`;
    return rows.length > 0;
  }

  /** Deletes uses of expired tokens. */
  async removeExpired(): Promise<void> {
    await this.#sql`delete from used_tokens where expires_at < now() - make_interval(secs => ${KEPT_S})`;
  }
}
