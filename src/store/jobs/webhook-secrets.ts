import type { Sql } from "postgres";
import type { WebhookSecret } from "../../../core/ports/jobs.js";

/** Time for which webhooks are also signed with the previous secret. */
const OVERLAP = "1 day";

/**
 * Secrets that sign webhooks, one per organization. They are derived from the pepper and a number, and the
 * table `webhook_secrets` stores only that number.
 */
export class WebhookSecrets {
  readonly #sql: Sql;
  readonly #derive: (purpose: string) => Uint8Array;

  constructor(sql: Sql, derive: (purpose: string) => Uint8Array) {
    this.#sql = sql;
    this.#derive = derive;
  }

  async current(organizationId: string): Promise<WebhookSecret> {
    await this.#sql`
      insert into webhook_secrets (organization_id) values (${organizationId}) on conflict do nothing`;
    const [row] = await this.#sql<SecretRow[]>`
      select number, rotated_at from webhook_secrets where organization_id = ${organizationId}`;
    return this.#toSecret(organizationId, row!);
  }

  async rotate(organizationId: string): Promise<WebhookSecret> {
    const [row] = await this.#sql<SecretRow[]>`
      insert into webhook_secrets (organization_id, number) values (${organizationId}, 2)
      on conflict (organization_id) do update set number = webhook_secrets.number + 1, rotated_at = now()
      returning number, rotated_at`;
    return this.#toSecret(organizationId, row!);
  }

  /** Returns the current secret, and for a day after a rotation also the previous one. */
  async valid(organizationId: string): Promise<readonly string[]> {
    const [row] = await this.#sql<(SecretRow & { is_recent: boolean })[]>`
      select number, rotated_at, rotated_at > now() - ${OVERLAP}::interval as is_recent
      from webhook_secrets where organization_id = ${organizationId}`;
    const number = row?.number ?? 1;
    const numbers = number > 1 && row?.is_recent === true ? [number, number - 1] : [number];
    return numbers.map((one) => this.#secretOf(organizationId, one));
  }

  #toSecret(organizationId: string, { number, rotated_at }: SecretRow): WebhookSecret {
    return { secret: this.#secretOf(organizationId, number), createdAt: rotated_at };
  }

  #secretOf(organizationId: string, number: number): string {
    const bytes = this.#derive(`webhook secret ${number} of ${organizationId}`);
    return `whsec_${Buffer.from(bytes).toString("hex")}`;
  }
}

interface SecretRow {
  readonly number: number;
  readonly rotated_at: Date;
}
