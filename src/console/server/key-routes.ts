import type { ConsoleKey } from "../../../core/ports/console-store.js";
import { TEMPORARY_KEY_LIFETIME_S } from "../../http/signed-credentials.js";
import { ConsoleError } from "./console-error.js";
import { type ConsoleRoute, type MemberCall, noOrganization, ORGANIZATION } from "./route.js";
import { KEY_CHANGE, NEW_KEY, parse, ROTATION } from "./schemas.js";

/** Most active keys that an organization may have. */
export const MOST_KEYS = 100;

/** Lists the routes for an organization's keys, including playground keys. */
export function keyRoutes(): readonly ConsoleRoute[] {
  return [
    { method: "GET", path: `${ORGANIZATION}/keys`, access: "member", handle: listKeys },
    { method: "POST", path: `${ORGANIZATION}/keys`, access: "member", handle: createKey },
    { method: "PATCH", path: `${ORGANIZATION}/keys/:key`, access: "member", handle: changeKey },
    { method: "POST", path: `${ORGANIZATION}/keys/:key/rotate`, access: "member", handle: rotateKey },
    { method: "DELETE", path: `${ORGANIZATION}/keys/:key`, access: "member", handle: revokeKey },
    { method: "POST", path: `${ORGANIZATION}/playground-key`, access: "member", handle: issuePlaygroundKey },
  ];
}

async function listKeys({ deps, organizationId }: MemberCall) {
  return { body: { data: (await deps.store.keys.list(organizationId)).map(toJson) } };
}

async function revokeKey({ deps, organizationId, param }: MemberCall) {
  const key = await deps.store.keys.revoke(organizationId, param("key"));
  if (key === null) throw noKey(param("key"));
  deps.endings.endKey(key.id);
  return { body: toJson(key) };
}

async function changeKey({ deps, organizationId, param, body }: MemberCall) {
  const {
    monthly_credits: monthlyCredits,
    endpoints,
    expires_at: expiresAt,
  } = parse(KEY_CHANGE, await body());
  const key = await deps.store.keys.setLimits(organizationId, param("key"), {
    ...(monthlyCredits !== undefined && { monthlyCredits }),
    ...(endpoints !== undefined && { endpoints }),
    ...(expiresAt !== undefined && { expiresAt }),
  });
  if (key === null) throw noKey(param("key"));
  return { body: toJson(key) };
}

async function rotateKey({ deps, organizationId, param, body }: MemberCall) {
  const { overlap_seconds: overlapSeconds } = parse(ROTATION, await body());
  const rotated = await deps.store.keys.rotate(organizationId, param("key"), overlapSeconds);
  if (rotated === null) throw noKey(param("key"));
  const { rawKey, ...key } = rotated;
  const previousUntilMs = key.previousUntil?.getTime() ?? 0;
  deps.endings.rotateKey(key.id, { rotations: key.rotations, previousUntilMs });
  return { body: { ...toJson(key), key: rawKey } };
}

function noKey(id: string): ConsoleError {
  return new ConsoleError("not_found", `no such active key: "${id}"`);
}

async function issuePlaygroundKey({ deps, organizationId, session, user }: MemberCall) {
  const { tier } = await deps.store.reports.credits(organizationId);
  const key = deps.temporaryKeys.issue(session, user.id, { organizationId, tier });
  // The session or the membership may have ended since this request was admitted.
  if ((await deps.temporaryKeys.find(key)) === null) throw noOrganization();
  return { status: 201, body: { key, expires_in: TEMPORARY_KEY_LIFETIME_S } };
}

async function createKey({ deps, organizationId, user, body }: MemberCall) {
  const {
    name,
    monthly_credits: monthlyCredits,
    endpoints,
    expires_at: expiresAt,
  } = parse(NEW_KEY, await body());
  const active = (await deps.store.keys.list(organizationId)).filter(isActive);
  if (active.length >= MOST_KEYS) {
    throw new ConsoleError(
      "too_many_keys",
      `an organization can have at most ${MOST_KEYS} active keys; revoke one first`,
    );
  }
  const created = await deps.store.keys.create({
    ...{ organizationId, name, makerId: user.id },
    limits: { monthlyCredits, endpoints, expiresAt },
  });
  if (created === null) throw noOrganization();
  const { rawKey, ...key } = created;
  return { status: 201, body: { ...toJson(key), key: rawKey } };
}

function isActive({ revokedAt, expiresAt }: ConsoleKey): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > Date.now());
}

function toJson(key: ConsoleKey) {
  return {
    id: key.id,
    prefix: key.prefix,
    last_four: key.lastFour,
    name: key.name,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt,
    revoked_at: key.revokedAt,
    monthly_credits: key.monthlyCredits,
    endpoints: key.endpoints,
    expires_at: key.expiresAt,
    previous_secret_until: key.previousUntil,
    usage: key.usage,
    created_by: key.maker === null ? null : { user_id: key.maker.id, email: key.maker.email },
  };
}
