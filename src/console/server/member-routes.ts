import type { Invitation, Member, MemberRefusal } from "../../../core/ports/console-store.js";
import { AttemptLimiter, INVITATION_MAILS } from "./attempt-limiter.js";
import { ConsoleError, noMail } from "./console-error.js";
import { type ConsoleDeps, type ConsoleRoute, type MemberCall, ORGANIZATION, ownersOnly } from "./route.js";
import { NEW_INVITATION, NEW_ROLE, parse, REMOVAL, RENAMING } from "./schemas.js";
import { newSecret, secretHash } from "./sessions.js";

export const INVITATION_LIFETIME_S = 7 * 86_400;

/** Lists the routes for an organization's name, members and invitations. */
export function memberRoutes({ store: { attempts }, clock }: ConsoleDeps): readonly ConsoleRoute[] {
  const mails = new AttemptLimiter(INVITATION_MAILS, attempts, clock);
  return [
    { method: "PATCH", path: ORGANIZATION, access: "owner", handle: rename },
    { method: "GET", path: `${ORGANIZATION}/members`, access: "member", handle: listMembers },
    { method: "PATCH", path: `${ORGANIZATION}/members/:user`, access: "owner", handle: changeRole },
    { method: "DELETE", path: `${ORGANIZATION}/members/:user`, access: "owner", handle: removeMember },
    { method: "GET", path: `${ORGANIZATION}/invitations`, access: "owner", handle: listInvitations },
    { method: "POST", path: `${ORGANIZATION}/invitations`, access: "owner", handle: invite(mails) },
    { method: "DELETE", path: `${ORGANIZATION}/invitations/:invitation`, access: "owner", handle: withdraw },
  ];
}

async function listMembers({ deps, organizationId }: MemberCall) {
  return { body: { data: (await deps.store.members.list(organizationId)).map(memberJson) } };
}

async function listInvitations({ deps, organizationId }: MemberCall) {
  return { body: { data: (await deps.store.members.invitations(organizationId)).map(invitationJson) } };
}

async function withdraw({ deps, organizationId, param }: MemberCall) {
  if (await deps.store.members.withdraw(organizationId, param("invitation"))) return { body: {} };
  throw new ConsoleError("not_found", `no such invitation: "${param("invitation")}"`);
}

async function rename({ deps, organizationId, user, body }: MemberCall) {
  const { name } = parse(RENAMING, await body());
  // The user may have lost the owner role since this request was admitted.
  if (!(await deps.store.members.rename({ organizationId, byUserId: user.id, name }))) throw ownersOnly();
  return { body: { id: organizationId, name } };
}

async function changeRole({ deps, organizationId, user, param, body }: MemberCall) {
  const { role } = parse(NEW_ROLE, await body());
  const userId = param("user");
  settled(await deps.store.members.setRole({ organizationId, userId, byUserId: user.id, role }));
  return { body: { user_id: userId, role } };
}

async function removeMember({ exchange, deps, organizationId, user, param }: MemberCall) {
  const { revoke_keys: revokesKeys } = parse(REMOVAL, Object.fromEntries(exchange.request.query));
  const userId = param("user");
  const { revokedKeyIds } = settled(
    await deps.store.members.remove({ organizationId, userId, byUserId: user.id, revokesKeys }),
  );
  deps.endings.endMembership(organizationId, userId);
  for (const id of revokedKeyIds) deps.endings.endKey(id);
  return { body: { revoked_keys: revokedKeyIds.length } };
}

function invite(mails: AttemptLimiter) {
  return async ({ deps, organizationId, user, body }: MemberCall) => {
    const { role, email, language = null } = parse(NEW_INVITATION, await body());
    const { mailing } = deps;
    if (email !== undefined && mailing === null) throw noMail();
    if (email !== undefined) await mails.take(organizationId);
    const token = newSecret();
    const invitation = await deps.store.members.invite({
      organizationId,
      role,
      createdBy: user.id,
      hash: secretHash(token),
      lifetimeSeconds: INVITATION_LIFETIME_S,
    });
    if (invitation === null) throw ownersOnly();
    // The token comes after `#`, which browsers do not send, so that no log contains it.
    const path = `/console/join#${token}`;
    if (email !== undefined && mailing !== null) {
      const memberships = await deps.store.users.memberships(user.id);
      const here = memberships.find((membership) => membership.organizationId === organizationId);
      const { expiresAt } = invitation;
      const organization = here?.organizationName ?? organizationId;
      const mail = { type: "invitation", inviter: user.email, organization, expiresAt } as const;
      void mailing.mailer.send({ ...mail, to: email, language, url: mailing.publicUrl + path });
    }
    return { status: 201, body: { ...invitationJson(invitation), path } };
  };
}

function settled<T>(outcome: T | MemberRefusal): T {
  if (outcome === "no-member") throw new ConsoleError("not_found", "no such member of this organization");
  if (outcome === "last-owner")
    throw new ConsoleError(
      "last_owner",
      "an organization needs an owner; make another member an owner first",
    );
  if (outcome === "not-owner") throw ownersOnly();
  return outcome as T;
}

function memberJson({ userId, email, role, createdAt }: Member) {
  return { user_id: userId, email, role, created_at: createdAt };
}

function invitationJson({ id, role, createdAt, expiresAt }: Invitation) {
  return { id, role, created_at: createdAt, expires_at: expiresAt };
}
