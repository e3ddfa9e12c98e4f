import { createHash, randomBytes } from "node:crypto";
import type { Sql } from "postgres";
import type { PasswordResets, User } from "../../../core/ports/console-store.js";
import { replacePassword } from "./users.js";

export interface NewReset {
  readonly user: User;
  /** 256 random bits, of which only the hash is stored. */
  readonly secret: string;
  readonly expiresAt: Date;
}

/** Manages the table `password_resets`. */
export class PostgresPasswordResets implements PasswordResets {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Creates a link, which replaces the user's earlier one. Null if no user has this address. */
  async create(email: string, lifetimeHours: number): Promise<NewReset | null> {
    const secret = randomBytes(32).toString("base64url");
    const [row] = await this.#sql<(User & { expiresAt: Date })[]>`
      with made as (
        insert into password_resets (user_id, hash, expires_at)
        select id, ${hashOf(secret)}, now() + make_interval(hours => ${lifetimeHours})
        from users where email = ${email.trim().toLowerCase()}
        on conflict (user_id) do update
          set hash = excluded.hash, created_at = excluded.created_at, expires_at = excluded.expires_at
        returning user_id, expires_at)
      select users.id, email, made.expires_at as "expiresAt" from made join users on users.id = made.user_id`;
    if (row === undefined) return null;
    const { expiresAt, ...user } = row;
    return { user, secret, expiresAt };
  }

  async find(secret: string): Promise<User | null> {
    const [row] = await this.#sql<User[]>`
      select users.id, email from password_resets join users on users.id = user_id
      where hash = ${hashOf(secret)} and expires_at > now()`;
    return row ?? null;
  }

  async use(secret: string, passwordHash: string): Promise<User | null> {
    return await this.#sql.begin(async (transaction) => {
      const [row] = await transaction<{ userId: string }[]>`
        delete from password_resets where hash = ${hashOf(secret)} and expires_at > now()
        returning user_id as "userId"`;
      return row === undefined ? null : await replacePassword(transaction, row.userId, passwordHash);
    });
  }
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
