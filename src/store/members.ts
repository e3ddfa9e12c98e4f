import { randomBytes } from "node:crypto";
import type { ISql, Sql } from "postgres";
import type { Invitation, Member, Members, Role } from "../ports/console-store.js";

/** The tables `memberships` and `invitations`. */
export class PostgresMembers implements Members {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async roleOf(organizationId: string, userId: string): Promise<Role | null> {
    const [row] = await this.#sql<{ role: Role }[]>`
      select role from memberships where organization_id = ${organizationId} and user_id = ${userId}`;
    return row?.role ?? null;
  }

  async list(organizationId: string): Promise<Member[]> {
    return await this.#sql<Member[]>`
      select user_id as "userId", email, role, memberships.created_at as "createdAt"
      from memberships join users on users.id = user_id
      where organization_id = ${organizationId} order by memberships.created_at, user_id`;
  }

  async setRole(organizationId: string, userId: string, role: Role): Promise<"done" | "last-owner" | null> {
    return await this.#change(organizationId, userId, role === "owner", async (transaction) => {
      await transaction`
        update memberships set role = ${role}
        where organization_id = ${organizationId} and user_id = ${userId}`;
    });
  }

  async remove(organizationId: string, userId: string): Promise<"done" | "last-owner" | null> {
    return await this.#change(organizationId, userId, false, async (transaction) => {
      await transaction`
        delete from memberships where organization_id = ${organizationId} and user_id = ${userId}`;
    });
  }

  async invite(invitation: {
    organizationId: string;
    role: Role;
    createdBy: string;
    hash: Buffer;
    lifetimeSeconds: number;
  }): Promise<Invitation> {
    const { organizationId, role, createdBy, hash, lifetimeSeconds } = invitation;
    const id = `inv_${randomBytes(12).toString("hex")}`;
    const [row] = await this.#sql<[Invitation]>`
      insert into invitations (id, organization_id, hash, role, created_by, expires_at)
      values (${id}, ${organizationId}, ${hash}, ${role}, ${createdBy}, now() + make_interval(secs => ${lifetimeSeconds}))
      returning id, role, created_at as "createdAt", expires_at as "expiresAt"`;
    return row;
  }

  async invitations(organizationId: string): Promise<Invitation[]> {
    return await this.#sql<Invitation[]>`
      select id, role, created_at as "createdAt", expires_at as "expiresAt" from invitations
      where organization_id = ${organizationId} and ${isOpen(this.#sql)} order by created_at, id`;
  }

  async withdraw(organizationId: string, invitationId: string): Promise<boolean> {
    const rows = await this.#sql`
      update invitations set revoked_at = now()
      where id = ${invitationId} and organization_id = ${organizationId} and ${isOpen(this.#sql)} returning id`;
    return rows.length > 0;
  }

  async findInvitation(
    hash: Buffer,
  ): Promise<{ readonly organizationName: string; readonly role: Role } | null> {
    const [row] = await this.#sql<{ organizationName: string; role: Role }[]>`
      select organizations.name as "organizationName", role
      from invitations join organizations on organizations.id = organization_id
      where hash = ${hash} and ${isOpen(this.#sql)}`;
    return row ?? null;
  }

  async accept(hash: Buffer, userId: string): Promise<string | null> {
    return await this.#sql.begin((transaction) => acceptInvitation(transaction, hash, userId));
  }

  /** Changes a membership unless the organization would be left without an owner. */
  async #change(
    organizationId: string,
    userId: string,
    staysOwner: boolean,
    change: (transaction: ISql) => Promise<void>,
  ): Promise<"done" | "last-owner" | null> {
    return await this.#sql.begin(async (transaction) => {
      // Two owners who remove each other at once must take turns: all owners' rows are locked, in one order.
      const owners = await transaction<{ user_id: string }[]>`
        select user_id from memberships where organization_id = ${organizationId} and role = 'owner'
        order by user_id for update`;
      const found = await transaction`
        select 1 from memberships where organization_id = ${organizationId} and user_id = ${userId}`;
      if (found.length === 0) return null;
      const isOnlyOwner = owners.length === 1 && owners[0]?.user_id === userId;
      if (isOnlyOwner && !staysOwner) return "last-owner";
      await change(transaction);
      return "done";
    });
  }
}

/** Uses an invitation up. Returns the organization, or null when the invitation is not good any more. */
export async function acceptInvitation(sql: ISql, hash: Buffer, userId: string): Promise<string | null> {
  const [row] = await sql<{ organization_id: string; role: Role }[]>`
    update invitations set accepted_by = ${userId} where hash = ${hash} and ${isOpen(sql)}
    returning organization_id, role`;
  if (row === undefined) return null;
  await sql`
    insert into memberships (organization_id, user_id, role) values (${row.organization_id}, ${userId}, ${row.role})
    on conflict (organization_id, user_id) do nothing`;
  return row.organization_id;
}

function isOpen(sql: ISql) {
  return sql`accepted_by is null and revoked_at is null and expires_at > now()`;
}
