import { randomBytes } from "node:crypto";
import type { ISql, Sql } from "postgres";
import type { Log } from "../../../core/observe/log.js";
import type {
  Membership,
  OpenSession,
  PersonRemoval,
  SessionOrigin,
  SessionPlace,
  SessionPlaces,
  User,
  Users,
} from "../../../core/ports/console-store.js";
import { orUnavailable } from "../postgres/within.js";
import { acceptInvitation } from "./members.js";
import { insertOrganization } from "./organizations.js";
import { removeUser } from "./remove-user.js";

/** Most sessions that are shown to a user. "All others" also ends those that are not shown. */
const MOST_SHOWN_SESSIONS = 100;

/** Manages the tables `users` and `sessions`. */
export class PostgresUsers implements Users {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async signUp(person: Parameters<Users["signUp"]>[0]): Promise<User | null> {
    return await this.#sql.begin(async (transaction) => {
      const user = await insertUser(transaction, person);
      if (user === null) return null;
      const { id: organizationId } = await insertOrganization(transaction, person.organizationName);
      await transaction`
        insert into memberships (organization_id, user_id, role) values (${organizationId}, ${user.id}, 'owner')`;
      return user;
    });
  }

  async signUpInvited(person: Parameters<Users["signUpInvited"]>[0]): Promise<User | "taken" | "invalid"> {
    const invalid = new Error("the invitation is not valid any more");
    try {
      return await this.#sql.begin(async (transaction) => {
        const user = await insertUser(transaction, person);
        if (user === null) return "taken" as const;
        // Throw, to roll back the creation of the user.
        if ((await acceptInvitation(transaction, person.invitation, user.id)) === null) throw invalid;
        return user;
      });
    } catch (error) {
      if (error === invalid) return "invalid";
      throw error;
    }
  }

  async findByEmail(email: string): Promise<(User & { readonly passwordHash: string }) | null> {
    const [row] = await this.#sql<(User & { passwordHash: string })[]>`
      select id, email, password_hash as "passwordHash" from users where email = ${email}`;
    return row ?? null;
  }

  async memberships(userId: string): Promise<Membership[]> {
    return await this.#sql<Membership[]>`
      select organization_id as "organizationId", organizations.name as "organizationName", role
      from memberships join organizations on organizations.id = organization_id
      where user_id = ${userId} order by memberships.created_at, organization_id`;
  }

  async openSession(
    userId: string,
    hash: Buffer,
    lifetimeSeconds: number,
    { address, agent }: SessionOrigin,
  ): Promise<void> {
    await this.#sql`delete from sessions where user_id = ${userId} and expires_at < now()`;
    await this.#sql`
      insert into sessions (hash, user_id, expires_at, address, agent)
      values (${hash}, ${userId}, now() + make_interval(secs => ${lifetimeSeconds}), ${address}, ${agent})`;
  }

  async sessions(userId: string, current: Buffer): Promise<readonly OpenSession[]> {
    return await this.#sql<OpenSession[]>`
      select ${this.#sessionId()} as id, created_at as "createdAt", expires_at as "expiresAt", address, agent,
        hash = ${current} as "isCurrent"
      from sessions where user_id = ${userId} and expires_at > now()
      order by created_at desc, hash limit ${MOST_SHOWN_SESSIONS}`;
  }

  async endSession(userId: string, sessionId: string): Promise<Buffer | null> {
    const [row] = await this.#sql<{ hash: Buffer }[]>`
      delete from sessions where user_id = ${userId} and ${this.#sessionId()} = ${sessionId} returning hash`;
    return row?.hash ?? null;
  }

  async endOtherSessions(userId: string, current: Buffer): Promise<readonly Buffer[]> {
    const rows = await this.#sql<{ hash: Buffer }[]>`
      delete from sessions where user_id = ${userId} and hash <> ${current} returning hash`;
    return rows.map(({ hash }) => hash);
  }

  remove(userId: string): Promise<PersonRemoval> {
    return removeUser(this.#sql, userId);
  }

  async findSession(hash: Buffer): Promise<User | null> {
    const [row] = await this.#sql<User[]>`
      select users.id, email from sessions join users on users.id = user_id
      where hash = ${hash} and expires_at > now()`;
    return row ?? null;
  }

  async setPassword(userId: string, passwordHash: string): Promise<void> {
    await this.#sql.begin((transaction) => replacePassword(transaction, userId, passwordHash));
  }

  async goodPlaces(places: readonly SessionPlace[]): Promise<readonly SessionPlace[]> {
    if (places.length === 0) return [];
    // Pass one parameter for any number of hashes, in hex because the driver has no byte arrays.
    const hashes = places.map(({ session }) => session.toString("hex"));
    const rows = await this.#sql<SessionPlace[]>`
      select hash as session, organization_id as "organizationId"
      from sessions join memberships using (user_id)
      where hash in (select decode(digits, 'hex') from unnest(${hashes}::text[]) as given (digits))
        and expires_at > now()`;
    const good = new Set(rows.map(placeName));
    return places.filter((place) => good.has(placeName(place)));
  }

  async closeSession(hash: Buffer): Promise<void> {
    await this.#sql`delete from sessions where hash = ${hash}`;
  }

  /** Returns 96 bits of the stored hash. The cookie cannot be derived from them. */
  #sessionId() {
    return this.#sql`'ses_' || encode(substr(hash, 1, 12), 'hex')`;
  }
}

/** Checks the sessions of requests with a playground key. */
export function sessionPlaces(users: Pick<Users, "goodPlaces">, log: Log): SessionPlaces {
  const onFailure = (cause: unknown) =>
    log.warn({ err: cause }, "could not look up the session of a playground key");
  return {
    isGood: async (place) => {
      const detail = "Cannot check the API key: its session is not known";
      return (await orUnavailable(users.goodPlaces([place]), detail, onFailure)).length > 0;
    },
  };
}

function placeName({ session, organizationId }: SessionPlace): string {
  return `${session.toString("hex")} ${organizationId}`;
}

/** Replaces the password, and ends all earlier sessions and reset links. */
export async function replacePassword(sql: ISql, userId: string, passwordHash: string): Promise<User | null> {
  const [row] = await sql<User[]>`
    update users set password_hash = ${passwordHash} where id = ${userId} returning id, email`;
  await sql`delete from sessions where user_id = ${userId}`;
  await sql`delete from password_resets where user_id = ${userId}`;
  return row ?? null;
}

async function insertUser(
  sql: ISql,
  { email, passwordHash }: { readonly email: string; readonly passwordHash: string },
): Promise<User | null> {
  const id = `usr_${randomBytes(12).toString("hex")}`;
  const [row] = await sql<User[]>`
    insert into users (id, email, password_hash) values (${id}, ${email}, ${passwordHash})
    on conflict (email) do nothing returning id, email`;
  return row ?? null;
}
