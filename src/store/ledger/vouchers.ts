import { createHmac, randomBytes, randomInt } from "node:crypto";
import type { Sql } from "postgres";
import type { TopUpOrder, TopUps } from "../../../core/ports/top-ups.js";
import { Transfers } from "./transfers.js";

export interface Voucher {
  readonly id: string;
  readonly lastFour: string;
  readonly credits: number;
  readonly note: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly redeemedAt: Date | null;
  readonly organizationId: string | null;
}

export interface NewVoucher {
  readonly credits: number;
  readonly note: string;
  /** Null if the vouchers do not expire. */
  readonly lifetimeDays: number | null;
}

/** Digits and letters that are hard to mistake for one another. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_LETTERS = 20;

/** Manages the table `vouchers`: codes worth credits that can be redeemed once, stored as keyed hashes. */
export class Vouchers implements TopUps {
  readonly #sql: Sql;
  readonly #pepper: string;

  constructor(sql: Sql, pepper: string) {
    this.#sql = sql;
    this.#pepper = pepper;
  }

  /** Creates a voucher. Only this result contains the code: 100 random bits as `XXXXX-XXXXX-XXXXX-XXXXX`. */
  async create({ credits, note, lifetimeDays }: NewVoucher): Promise<Voucher & { readonly code: string }> {
    const id = `vch_${randomBytes(12).toString("hex")}`;
    const letters = Array.from({ length: CODE_LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
    const [row] = await this.#sql<[Voucher]>`
      insert into vouchers (id, hash, last_four, credits, note, expires_at)
      values (${id}, ${this.#hash(letters)}, ${letters.slice(-4)}, ${credits}, ${note},
        now() + make_interval(days => ${lifetimeDays}::integer))
      returning ${this.#columns()}`;
    return { ...row, code: (letters.match(/.{5}/g) ?? []).join("-") };
  }

  /** Lists all vouchers, oldest first. */
  async list(): Promise<Voucher[]> {
    return await this.#sql<Voucher[]>`select ${this.#columns()} from vouchers order by created_at, id`;
  }

  /** Redeems a code, written in upper or lower case, with or without dashes. */
  async redeem({ organizationId, userId, proof }: TopUpOrder): Promise<number | null> {
    const letters = proof.toUpperCase().replace(/[^0-9A-Z]/g, "");
    return await this.#sql.begin(async (transaction) => {
      const [row] = await transaction<{ id: string; credits: number }[]>`
        update vouchers set redeemed_at = now(), organization_id = ${organizationId}, redeemed_by = ${userId}
        where hash = ${this.#hash(letters)} and redeemed_at is null
          and (expires_at is null or expires_at > now())
        returning id, credits`;
      if (row === undefined) return null;
      await new Transfers(transaction).topUp(organizationId, row.credits, `voucher:${row.id}`);
      return row.credits;
    });
  }

  #hash(letters: string): Buffer {
    return createHmac("sha256", this.#pepper).update(`voucher:${letters}`).digest();
  }

  #columns() {
    return this.#sql`
      id, last_four as "lastFour", credits, note, created_at as "createdAt", expires_at as "expiresAt",
      redeemed_at as "redeemedAt", organization_id as "organizationId"`;
  }
}
