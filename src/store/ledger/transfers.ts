import type { ISql } from "postgres";
import { FREE_GRANT_CREDITS } from "../../../core/domain/usage/tariff.js";

/** An immutable transfer of credits from one account to another. */
export interface Transfer {
  readonly reference: string;
  readonly kind: "grant" | "topup" | "charge" | "refund";
  readonly debitAccount: string;
  readonly creditAccount: string;
  readonly amount: number;
  readonly createdAt: Date;
}

interface NewTransfer {
  readonly reference: string;
  readonly kind: "grant" | "topup";
  readonly debitAccount: string;
  readonly organizationId: string;
  readonly amount: number;
}

/** Manages the table `transfers`. `holds.ts` writes charges and refunds together with their hold. */
export class Transfers {
  readonly #sql: ISql;

  constructor(sql: ISql) {
    this.#sql = sql;
  }

  /** Grants an organization its free credits, but only once. Returns whether this call granted them. */
  async grantFree(organizationId: string): Promise<boolean> {
    return await this.#credit({
      reference: `grant:free:${organizationId}`,
      kind: "grant",
      debitAccount: "grants",
      organizationId,
      amount: FREE_GRANT_CREDITS,
    });
  }

  /**
   * Credits a payment, but only once per reference.
   *
   * @returns false if the same payment was already credited
   * @throws {Error} if the reference belongs to a different payment, or the organization does not exist
   */
  async topUp(organizationId: string, amount: number, payment: string): Promise<boolean> {
    const reference = `topup:${payment}`;
    const transfer = { reference, kind: "topup", debitAccount: "topups", organizationId, amount } as const;
    if (await this.#credit(transfer)) return true;
    const [earlier] = await this.#sql<{ same: boolean }[]>`
      select credit_account = ${organizationId} and amount = ${amount} as same
      from transfers where reference = ${reference}`;
    if (earlier?.same === true) return false;
    throw new Error(`the reference "${payment}" was used for another payment`);
  }

  /** Lists transfers of one organization, oldest first. */
  async list(organizationId: string): Promise<Transfer[]> {
    return await this.#sql<Transfer[]>`
      select reference, kind, debit_account as "debitAccount", credit_account as "creditAccount", amount,
        created_at as "createdAt"
      from transfers where debit_account = ${organizationId} or credit_account = ${organizationId} order by id`;
  }

  /** Inserts the transfer and changes the balance in one statement. */
  async #credit({ reference, kind, debitAccount, organizationId, amount }: NewTransfer): Promise<boolean> {
    const rows = await this.#sql`
      with transfer as (
        insert into transfers (reference, kind, debit_account, credit_account, amount)
        values (${reference}, ${kind}, ${debitAccount}, ${organizationId}, ${amount})
        on conflict (reference) do nothing
        returning credit_account, amount
      )
      update accounts set balance = balance + transfer.amount from transfer
      where accounts.id = transfer.credit_account
      returning accounts.id`;
    return rows.length > 0;
  }
}
