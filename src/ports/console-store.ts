import type { OrganizationTier } from "../domain/usage/concurrency.js";
import type { UsageKind } from "../domain/usage/tariff.js";

export type Role = "owner" | "member";

/** A person who signs in to the console. */
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

/** A session's work in an organization. */
export interface SessionPlace {
  readonly session: Buffer;
  readonly organizationId: string;
}

/** People, their passwords' hashes and their sessions. Passwords and cookies themselves never come here. */
export interface Users {
  /** Makes a person with an organization of their own and its free credits, in one step. Null when the address is taken. */
  signUp(person: { email: string; passwordHash: string; organizationName: string }): Promise<User | null>;
  /** Makes a person in the organization that invited them. `taken`: the address; `invalid`: the invitation. */
  signUpInvited(person: {
    email: string;
    passwordHash: string;
    invitation: Buffer;
  }): Promise<User | "taken" | "invalid">;
  findByEmail(email: string): Promise<(User & { readonly passwordHash: string }) | null>;
  memberships(userId: string): Promise<Membership[]>;
  /** Remembers a session by the hash of its cookie; sessions of this person that are over are forgotten. */
  openSession(userId: string, hash: Buffer, lifetimeSeconds: number): Promise<void>;
  findSession(hash: Buffer): Promise<User | null>;
  /** Ends all of this person's sessions, and links to another password. */
  setPassword(userId: string, passwordHash: string): Promise<void>;
  closeSession(hash: Buffer): Promise<void>;
  /** Those of `places` whose session is open and whose user still belongs to the organization. */
  goodPlaces(places: readonly SessionPlace[]): Promise<readonly SessionPlace[]>;
}

/** Links that an operator makes for people who have lost their password. */
export interface PasswordResets {
  /** Whose password a link is for; null when it is unknown, late, used or replaced. */
  find(secret: string): Promise<User | null>;
  /** Sets the password as `setPassword` does, once per link. Null as `find`. */
  use(secret: string, passwordHash: string): Promise<User | null>;
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
  /** The owner who wants it. */
  readonly byUserId: string;
}

/** `last-owner`: an organization keeps at least one. `not-owner`: who wants it is none any more. */
export type MemberRefusal = "last-owner" | "not-owner" | "no-member";

/** Who belongs to an organization, and who may join. */
export interface Members {
  roleOf(organizationId: string, userId: string): Promise<Role | null>;
  list(organizationId: string): Promise<Member[]>;
  /** Who is an owner no more leaves no open invitation behind: it would let them back in. */
  setRole(change: MemberChange & { readonly role: Role }): Promise<MemberRefusal | "done">;
  /** The same; and revokes the keys that the member made, if wanted. */
  remove(
    change: MemberChange & { readonly revokesKeys: boolean },
  ): Promise<MemberRefusal | { readonly revokedKeyIds: readonly string[] }>;
  /** Null when the inviter is no owner any more. */
  invite(invitation: {
    organizationId: string;
    role: Role;
    createdBy: string;
    hash: Buffer;
    lifetimeSeconds: number;
  }): Promise<Invitation | null>;
  /** Invitations that still can be accepted. */
  invitations(organizationId: string): Promise<Invitation[]>;
  /** False when there is no such invitation to withdraw. */
  withdraw(organizationId: string, invitationId: string): Promise<boolean>;
  /** What an invitation leads to; null when it is unknown, late, used or withdrawn. */
  findInvitation(hash: Buffer): Promise<{ readonly organizationName: string; readonly role: Role } | null>;
  /** Joins, once per invitation. Null as `findInvitation`; a person who is a member already keeps their role. */
  accept(hash: Buffer, userId: string): Promise<string | null>;
}

export interface ConsoleKey {
  readonly id: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly name: string;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** Null for keys of an operator, and from before this was kept. */
  readonly maker: User | null;
}

export interface ConsoleKeys {
  list(organizationId: string): Promise<ConsoleKey[]>;
  /** `rawKey` is known at this moment only. Null when the maker belongs to the organization no more. */
  create(key: {
    organizationId: string;
    name: string;
    makerId: string;
  }): Promise<(ConsoleKey & { readonly rawKey: string }) | null>;
  /** Null when the organization has no such key. */
  revoke(organizationId: string, keyId: string): Promise<ConsoleKey | null>;
}

export interface Credits {
  readonly balance: number;
  readonly held: number;
  readonly available: number;
  readonly tier: OrganizationTier;
}

export interface LedgerEntry {
  /** Rises with time; for paging. */
  readonly position: number;
  readonly kind: "grant" | "topup" | "charge" | "refund";
  /** Credits: what came in is positive, what went out negative. */
  readonly amount: number;
  /** Id of the request or live session that was charged or refunded; null for other entries. */
  readonly requestId: string | null;
  readonly endpoint: string | null;
  readonly keyName: string | null;
  readonly createdAt: Date;
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
  /** Newest first; `before` is the position of the last one that was seen. */
  ledger(organizationId: string, before: number | null, limit: number): Promise<LedgerEntry[]>;
  /** What was charged on the last `days` days, today included. */
  usage(organizationId: string, days: number): Promise<UsageRow[]>;
}

/** Everything that the console remembers. */
export interface ConsoleStore {
  readonly users: Users;
  readonly resets: PasswordResets;
  readonly members: Members;
  readonly keys: ConsoleKeys;
  readonly reports: Reports;
}
