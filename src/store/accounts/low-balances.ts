import type { Sql } from "postgres";

/** An organization to warn. */
export interface LowBalance {
  readonly organizationId: string;
  readonly name: string;
  readonly available: number;
  /** E-mail addresses of the owners. */
  readonly owners: readonly string[];
}

/**
 * Manages `organizations.low_balance_mailed_at`: which owners were warned since the balance fell below the
 * limit.
 */
export class LowBalances {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Returns organizations that fell below the limit, each to only one caller. Forgets those that recovered.
   */
  async claim(limitCredits: number): Promise<readonly LowBalance[]> {
    await this.#sql`
      update organizations set low_balance_mailed_at = null from accounts
      where accounts.organization_id = organizations.id and low_balance_mailed_at is not null
        and accounts.balance >= ${limitCredits}`;
    return await this.#sql<LowBalance[]>`
      update organizations set low_balance_mailed_at = now() from accounts
      where accounts.organization_id = organizations.id and low_balance_mailed_at is null
        and accounts.balance < ${limitCredits}
        and exists (select from memberships where organization_id = organizations.id and role = 'owner')
      returning organizations.id as "organizationId", name, balance - held as available, array(
        select email from memberships join users on users.id = user_id
        where organization_id = organizations.id and role = 'owner' order by email) as owners`;
  }

  /** Forgets a warning that nobody received, so that the next `claim` returns the organization again. */
  async release(organizationId: string): Promise<void> {
    await this.#sql`update organizations set low_balance_mailed_at = null where id = ${organizationId}`;
  }
}
