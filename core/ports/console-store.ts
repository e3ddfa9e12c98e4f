import type { KeyLimits } from "../domain/key-limits.js";
import type { OrganizationTier } from "../domain/usage/concurrency.js";
import type { UsageKind } from "../domain/usage/tariff.js";

export type Role = "owner" | "member";

/** A user of the console. */
export interface User {
  readonly id: string;
  /** Lower case. */
  readonly email: string;
}

export interface Membership {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly role: Role;
}

/** A session, and the organization in which it is used. */
export interface SessionPlace {
  readonly session: Buffer;
  readonly organizationId: string;
}

/** Checks sessions, for keys that expire with them. */
export interface SessionPlaces {
  /**
   * Returns whether the session is open and its user still belongs to the organization.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  isGood(place: SessionPlace): Promise<boolean>;
}

/** Where a session was opened; null for unknown. */
export interface SessionOrigin {
  readonly address: string | null;
  /** Names of the browser and the system. */
  readonly agent: string | null;
}

/** A session as its owner sees it. */
export interface OpenSession extends SessionOrigin {
  /** Not secret. */
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly isCurrent: boolean;
}

/** `last-owner`: the listed organizations have other members, but no other owner. */
export type PersonRemoval =
  | { readonly type: "removed"; readonly revokedKeyIds: readonly string[] }
  | { readonly type: "last-owner"; readonly organizations: readonly string[] };

/** Users, hashes of their passwords, and their sessions; never passwords and cookies themselves. */
export interface Users {
  /** Creates a user with an organization and its free credits, atomically. Null when the address is taken. */
  signUp(person: { email: string; passwordHash: string; organizationName: string }): Promise<User | null>;
  /** Creates a user in the inviting organization. `taken`: the address; `invalid`: the invitation. */
  signUpInvited(person: {
    email: string;
    passwordHash: string;
    invitation: Buffer;
  }): Promise<User | "taken" | "invalid">;
  findByEmail(email: string): Promise<(User & { readonly passwordHash: string }) | null>;
  memberships(userId: string): Promise<Membership[]>;
  /** Stores a session by the hash of its cookie, and deletes the user's expired ones. */
  openSession(userId: string, hash: Buffer, lifetimeSeconds: number, origin: SessionOrigin): Promise<void>;
  /** Lists open sessions, newest first, at most a hundred. @param current hash of the requesting session */
  sessions(userId: string, current: Buffer): Promise<readonly OpenSession[]>;
  /** Closes a session and returns its hash; null if the user has no session with this id. */
  endSession(userId: string, sessionId: string): Promise<Buffer | null>;
  /** Closes all sessions but one and returns their hashes. */
  endOtherSessions(userId: string, current: Buffer): Promise<readonly Buffer[]>;
  /**
   * Deletes a user with their sessions, memberships and invitations. Organizations keep their ledger; keys of
   * those without other members are revoked.
   */
  remove(userId: string): Promise<PersonRemoval>;
  findSession(hash: Buffer): Promise<User | null>;
  /** Sets the password, closes all of the user's sessions, and withdraws password reset links. */
  setPassword(userId: string, passwordHash: string): Promise<void>;
  closeSession(hash: Buffer): Promise<void>;
  /** Returns the places whose session is open and whose user still belongs to the organization. */
  goodPlaces(places: readonly SessionPlace[]): Promise<readonly SessionPlace[]>;
}

/** Password reset links that an operator creates. */
export interface PasswordResets {
  /** Returns the user of a link; null when it is unknown, expired, used or replaced. */
  find(secret: string): Promise<User | null>;
  /** Sets the password as `setPassword` does, once per link. Null as in `find`. */
  use(secret: string, passwordHash: string): Promise<User | null>;
}

/** Creates password reset links. */
export interface NewResets {
  /** Replaces the user's earlier link. Null when no user has this address. */
  create(
    email: string,
    lifetimeHours: number,
  ): Promise<{ readonly user: User; readonly secret: string; readonly expiresAt: Date } | null>;
}

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
}

export interface Invitation {
  readonly id: string;
  readonly role: Role;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface MemberChange {
  readonly organizationId: string;
  readonly userId: string;
  /** The requesting owner. */
  readonly byUserId: string;
}

/**
 * `last-owner`: an organization keeps at least one. `not-owner`: the requesting user is no longer an owner.
 */
export type MemberRefusal = "last-owner" | "not-owner" | "no-member";

/** Members and invitations of an organization. */
export interface Members {
  roleOf(organizationId: string, userId: string): Promise<Role | null>;
  list(organizationId: string): Promise<Member[]>;
  /** Renames the organization; false when `byUserId` is no longer an owner. */
  rename(change: { organizationId: string; byUserId: string; name: string }): Promise<boolean>;
  /** Changes a role; also withdraws the open invitations of a demoted owner, who could use them to return. */
  setRole(change: MemberChange & { readonly role: Role }): Promise<MemberRefusal | "done">;
  /** Removes a member and withdraws such invitations; also revokes the member's keys if requested. */
  remove(
    change: MemberChange & { readonly revokesKeys: boolean },
  ): Promise<MemberRefusal | { readonly revokedKeyIds: readonly string[] }>;
  /** Creates an invitation; null when the inviter is no longer an owner. */
  invite(invitation: {
    organizationId: string;
    role: Role;
    createdBy: string;
    hash: Buffer;
    lifetimeSeconds: number;
  }): Promise<Invitation | null>;
  invitations(organizationId: string): Promise<Invitation[]>;
  /** Withdraws an invitation; false when it does not exist. */
  withdraw(organizationId: string, invitationId: string): Promise<boolean>;
  /** Finds an invitation by its hash; null when it is unknown, expired, used or withdrawn. */
  findInvitation(hash: Buffer): Promise<{ readonly organizationName: string; readonly role: Role } | null>;
  /** Adds the user, once per invitation. Returns null as in `findInvitation`; members keep their role. */
  accept(hash: Buffer, userId: string): Promise<string | null>;
}

/** Spending of a key in a calendar month, UTC. */
export interface KeyMonth {
  /** `2026-11`. */
  readonly month: string;
  /** Credits charged. */
  readonly credits: number;
  /** Credits held for running work. */
  readonly held: number;
}

export interface ConsoleKey extends KeyLimits {
  readonly id: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** The current month first, then earlier ones with usage, at most a year. */
  readonly usage: readonly KeyMonth[];
  /** How often the secret was replaced. */
  readonly rotations: number;
  /** When the previous secret expires; null if none is still valid. */
  readonly previousUntil: Date | null;
  /** User who created the key; null for keys of an operator and for old keys. */
  readonly maker: User | null;
}

interface ConsoleKeys {
  list(organizationId: string): Promise<ConsoleKey[]>;
  /** Creates a key; `rawKey` is never stored. Null when the creator no longer belongs to the organization. */
  create(key: {
    organizationId: string;
    name: string;
    makerId: string;
    limits?: KeyLimits;
  }): Promise<(ConsoleKey & { readonly rawKey: string }) | null>;
  /** Changes a key's limits; null when the organization has no such key, or it was revoked. */
  setLimits(organizationId: string, keyId: string, limits: Partial<KeyLimits>): Promise<ConsoleKey | null>;
  /**
   * Replaces the secret; the old one stays valid for `overlapSeconds`. Null when the organization has no such
   * key, or it was revoked or has expired.
   */
  rotate(
    organizationId: string,
    keyId: string,
    overlapSeconds: number,
  ): Promise<(ConsoleKey & { readonly rawKey: string }) | null>;
  /** Revokes a key; null when the organization has no such key. */
  revoke(organizationId: string, keyId: string): Promise<ConsoleKey | null>;
}

export interface Credits {
  readonly balance: number;
  readonly held: number;
  readonly available: number;
  /** `paid` after the first top-up. */
  readonly tier: OrganizationTier;
  readonly lastTopUp: { readonly credits: number; readonly createdAt: Date } | null;
}

type LedgerKind = "grant" | "topup" | "charge" | "refund";

export interface LedgerEntry {
  /** Increases over time; used for paging. */
  readonly position: number;
  readonly kind: LedgerKind;
  /** Credits, positive or negative. */
  readonly amount: number;
  /** The organization's credits after this entry, held ones included. */
  readonly balance: number;
  /** Id of the charged or refunded request or live session; null for other entries. */
  readonly requestId: string | null;
  readonly endpoint: string | null;
  readonly keyName: string | null;
  readonly createdAt: Date;
}

/** A filter for ledger entries; null for no restriction. */
export interface LedgerFilter {
  readonly kind: LedgerKind | null;
  readonly from: Date | null;
  /** Exclusive end. */
  readonly until: Date | null;
}

/** The entry below which a page starts. */
export interface LedgerCursor {
  readonly position: number;
  /** Balance before that entry, if known, which saves summing up to it. */
  readonly balance: number | null;
}

export interface UsageRow {
  /** UTC, `2026-11-21`. */
  readonly day: string;
  readonly kind: UsageKind;
  readonly endpoint: string | null;
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly requests: number;
  /** Characters of synthesis, seconds of audio. */
  readonly quantity: number;
  readonly credits: number;
}

export interface Reports {
  credits(organizationId: string): Promise<Credits>;
  /** Returns entries, newest first; `before` is the last entry of the previous page. */
  ledger(
    organizationId: string,
    page: { readonly filter: LedgerFilter; readonly before: LedgerCursor | null; readonly limit: number },
  ): Promise<LedgerEntry[]>;
  /** Returns the charges of the last `days` days, today included. */
  usage(organizationId: string, days: number): Promise<UsageRow[]>;
}

export interface AttemptRules {
  readonly attempts: number;
  readonly windowMs: number;
}

/** Rate limits by name, shared by all services on one database. */
export interface Attempts {
  /**
   * Counts an attempt unless the window's limit is reached.
   * @returns null, or the whole seconds until the window ends
   */
  take(name: string, rules: AttemptRules): Promise<number | null>;
  /** Takes back one attempt. */
  giveBack(name: string): Promise<void>;
  clear(name: string): Promise<void>;
}

/** The console's data. */
export interface ConsoleStore {
  readonly users: Users;
  readonly resets: PasswordResets;
  readonly members: Members;
  readonly keys: ConsoleKeys;
  readonly reports: Reports;
  readonly attempts: Attempts;
}
