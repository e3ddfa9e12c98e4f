import type { ISql, Sql } from "postgres";
import type { PersonRemoval, Role } from "../../../core/ports/console-store.js";

interface Membership {
  readonly organizationId: string;
  readonly userId: string;
  readonly role: Role;
}

/** Thrown to roll back the transaction. */
class LastOwner extends Error {
  readonly organizations: readonly string[];

  constructor(organizations: readonly string[]) {
    super("organizations with other members would be left without an owner");
    this.organizations = organizations;
  }
}

/**
 * Removes a user. Transfers, holds and keys belong to the organization and remain, without the user's name.
 * An organization that has no members left keeps its ledger, and its keys are revoked.
 */
export async function removeUser(sql: Sql, userId: string): Promise<PersonRemoval> {
  try {
    const revokedKeyIds = await sql.begin((transaction) => remove(transaction, userId));
    return { type: "removed", revokedKeyIds };
  } catch (error) {
    if (error instanceof LastOwner) return { type: "last-owner", organizations: error.organizations };
    throw error;
  }
}

async function remove(sql: ISql, userId: string): Promise<readonly string[]> {
  // Lock in the same order as statements that create keys and invitations: memberships, then the user. Once
  // the user's row is locked, nothing new can refer to it, and the second query finds memberships that were
  // added in between.
  await lockMemberships(sql, userId);
  await sql`select id from users where id = ${userId} for update`;
  const locked = await lockMemberships(sql, userId);
  // Do this before members are counted: a user who is accepting one of these has joined when this returns.
  await sql`
    update invitations set revoked_at = now()
    where created_by = ${userId} and accepted_by is null and revoked_at is null`;
  const alone = ownedByNobodyElse(locked, userId);
  await requireNoOtherMembers(sql, alone);
  const keys = await sql<{ id: string }[]>`
    update api_keys set revoked_at = now()
    where organization_id = any(${[...alone]}::text[]) and revoked_at is null returning id`;
  await sql`update api_keys set created_by = null where created_by = ${userId}`;
  await sql`update vouchers set redeemed_by = null where redeemed_by = ${userId}`;
  await sql`delete from invitations where created_by = ${userId} or accepted_by = ${userId}`;
  await sql`delete from memberships where user_id = ${userId}`;
  // This cascades to sessions and password resets.
  await sql`delete from users where id = ${userId}`;
  return keys.map(({ id }) => id);
}

/**
 * Locks the user's memberships and those of the owners next to them, in the order that every change of
 * members uses.
 */
async function lockMemberships(sql: ISql, userId: string): Promise<readonly Membership[]> {
  return await sql<Membership[]>`
    select organization_id as "organizationId", user_id as "userId", role from memberships
    where organization_id in (select organization_id from memberships where user_id = ${userId})
      and (role = 'owner' or user_id = ${userId})
    order by organization_id, user_id for update`;
}

function ownedByNobodyElse(memberships: readonly Membership[], userId: string): readonly string[] {
  const others = memberships.filter((one) => one.userId !== userId && one.role === "owner");
  const kept = new Set(others.map(({ organizationId }) => organizationId));
  return memberships
    .filter((one) => one.userId === userId && !kept.has(one.organizationId))
    .map(({ organizationId }) => organizationId);
}

/** @throws {LastOwner} if an organization has other members */
async function requireNoOtherMembers(sql: ISql, ids: readonly string[]): Promise<void> {
  const shared = await sql<{ name: string }[]>`
    select name from organizations
    where id = any(${[...ids]}::text[])
      and (select count(*) from memberships where organization_id = organizations.id) > 1
    order by name`;
  if (shared.length > 0) throw new LastOwner(shared.map(({ name }) => name));
}
