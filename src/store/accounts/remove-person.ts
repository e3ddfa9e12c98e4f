import type { ISql, Sql } from "postgres";
import type { PersonRemoval, Role } from "../../../core/ports/console-store.js";

interface Membership {
  readonly organizationId: string;
  readonly userId: string;
  readonly role: Role;
}

/** Thrown to take back what the transaction has done so far. */
class LastOwner extends Error {
  readonly organizations: readonly string[];

  constructor(organizations: readonly string[]) {
    super("organizations with other members would be left without an owner");
    this.organizations = organizations;
  }
}

/**
 * Removes a person. What they did stays: transfers, holds and keys belong to the organization, and only lose the name of who
 * made them. An organization that nobody belongs to any more keeps its ledger, and its keys are revoked.
 */
export async function removePerson(sql: Sql, userId: string): Promise<PersonRemoval> {
  try {
    const revokedKeyIds = await sql.begin((transaction) => remove(transaction, userId));
    return { type: "removed", revokedKeyIds };
  } catch (error) {
    if (error instanceof LastOwner) return { type: "last-owner", organizations: error.organizations };
    throw error;
  }
}

async function remove(sql: ISql, userId: string): Promise<readonly string[]> {
  // In the order of those who make keys and invitations: memberships, then the person. With the person's row locked nothing
  // can refer to them any more; what joined them to an organization until then is there at the second look.
  await lockMemberships(sql, userId);
  await sql`select id from users where id = ${userId} for update`;
  const locked = await lockMemberships(sql, userId);
  // Before others are counted: who accepts one of these right now has joined by the time that this goes on.
  await sql`
    update invitations set revoked_at = now()
    where created_by = ${userId} and accepted_by is null and revoked_at is null`;
  const alone = await organizationsLeft(sql, ownedByNobodyElse(locked, userId));
  const keys = await sql<{ id: string }[]>`
    update api_keys set revoked_at = now()
    where organization_id = any(${[...alone]}::text[]) and revoked_at is null returning id`;
  await sql`update api_keys set created_by = null where created_by = ${userId}`;
  await sql`update vouchers set redeemed_by = null where redeemed_by = ${userId}`;
  // Those that were used have no more to say: the membership is what came of them.
  await sql`delete from invitations where created_by = ${userId} or accepted_by = ${userId}`;
  await sql`delete from memberships where user_id = ${userId}`;
  // Sessions and links to a new password go with the person.
  await sql`delete from users where id = ${userId}`;
  return keys.map(({ id }) => id);
}

/** Locks the person's memberships and those of owners beside them, in the order of all who change members. */
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

/** Those of the organizations that have no other member. @throws {LastOwner} when one has */
async function organizationsLeft(sql: ISql, ids: readonly string[]): Promise<readonly string[]> {
  const shared = await sql<{ name: string }[]>`
    select name from organizations
    where id = any(${[...ids]}::text[])
      and (select count(*) from memberships where organization_id = organizations.id) > 1
    order by name`;
  if (shared.length > 0) throw new LastOwner(shared.map(({ name }) => name));
  return ids;
}
