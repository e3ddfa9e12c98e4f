import { randomBytes } from "node:crypto";
import type { ISql, Sql } from "postgres";
import type {
  Invitation,
  Member,
  MemberChange,
  MemberRefusal,
  Members,
  Role,
} from "../../../core/ports/console-store.js";

/** Manages the tables `memberships` and `invitations`. */
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

  async rename({ organizationId, byUserId, name }: Parameters<Members["rename"]>[0]): Promise<boolean> {
    const rows = await this.#sql`
      with owner as (
        select organization_id from memberships
        where organization_id = ${organizationId} and user_id = ${byUserId} and role = 'owner' for share)
      update organizations set name = ${name} from owner where organizations.id = owner.organization_id
      returning organizations.id`;
    return rows.length > 0;
  }

  async setRole(change: MemberChange & { readonly role: Role }): Promise<MemberRefusal | "done"> {
    const { organizationId, userId, role } = change;
    return await this.#change(change, role === "owner", async (transaction) => {
      await transaction`
        update memberships set role = ${role}
        where organization_id = ${organizationId} and user_id = ${userId}`;
      return "done" as const;
    });
  }

  async remove(
    change: MemberChange & { readonly revokesKeys: boolean },
  ): Promise<MemberRefusal | { readonly revokedKeyIds: readonly string[] }> {
    const { organizationId, userId, revokesKeys } = change;
    return await this.#change(change, false, async (transaction) => {
      await transaction`
        delete from memberships where organization_id = ${organizationId} and user_id = ${userId}`;
      if (!revokesKeys) return { revokedKeyIds: [] };
      const rows = await transaction<{ id: string }[]>`
        update api_keys set revoked_at = now()
        where organization_id = ${organizationId} and created_by = ${userId} and revoked_at is null
        returning id`;
      return { revokedKeyIds: rows.map(({ id }) => id) };
    });
  }

  async invite(invitation: Parameters<Members["invite"]>[0]): Promise<Invitation | null> {
    const { organizationId, role, createdBy, hash, lifetimeSeconds } = invitation;
    const id = `inv_${randomBytes(12).toString("hex")}`;
    // Lock the inviter's row: either their removal sees this invitation, or this statement sees their
    // removal.
    const [row] = await this.#sql<Invitation[]>`
      with inviter as (
        select user_id from memberships
        where organization_id = ${organizationId} and user_id = ${createdBy} and role = 'owner' for share)
      insert into invitations (id, organization_id, hash, role, created_by, expires_at)
      select ${id}, ${organizationId}, ${hash}, ${role}, user_id, now() + make_interval(secs => ${lifetimeSeconds})
      from inviter
      returning id, role, created_at as "createdAt", expires_at as "expiresAt"`;
    return row ?? null;
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

  /** Changes a membership, unless it is that of the last owner. */
  async #change<T>(
    { organizationId, userId, byUserId }: MemberChange,
    staysOwner: boolean,
    change: (transaction: ISql) => Promise<T>,
  ): Promise<T | MemberRefusal> {
    const outcome = await this.#sql.begin(async (transaction) => {
      // Lock the rows of owners and member in a fixed order, so that owners who remove each other take turns.
      const locked = await transaction<{ userId: string; role: Role }[]>`
        select user_id as "userId", role from memberships
        where organization_id = ${organizationId} and (role = 'owner' or user_id = ${userId})
        order by user_id for update`;
      const owners = locked.filter(({ role }) => role === "owner");
      // The requester may have lost the owner role since the request was admitted.
      if (!owners.some((owner) => owner.userId === byUserId)) return "not-owner";
      if (!locked.some((member) => member.userId === userId)) return "no-member";
      const isOnlyOwner = owners.length === 1 && owners[0]?.userId === userId;
      if (isOnlyOwner && !staysOwner) return "last-owner";
      // Do this before the membership is deleted: a user who is accepting an invitation has locked its row,
      // and needs that of the membership.
      if (!staysOwner) await withdrawAll(transaction, organizationId, userId);
      return await change(transaction);
    });
    return outcome as T | MemberRefusal;
  }
}

/** Withdraws a member's open invitations. */
async function withdrawAll(sql: ISql, organizationId: string, userId: string): Promise<void> {
  await sql`
    update invitations set revoked_at = now()
    where organization_id = ${organizationId} and created_by = ${userId} and ${isOpen(sql)}`;
}

/** Accepts an invitation. Returns the organization, or null if the invitation is not open. */
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
