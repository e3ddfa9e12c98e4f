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

/** Whether sessions go on, for keys that end with them. */
export interface SessionPlaces {
  /**
   * Whether the session is open and its user still belongs to the organization.
   * @throws {ServiceError} `AUTH_UNAVAILABLE`
   */
  isGood(place: SessionPlace): Promise<boolean>;
}

/** From where a session was opened; null is what is not known. */
export interface SessionOrigin {
  readonly address: string | null;
  /** A browser and a system by name. */
  readonly agent: string | null;
}

/** A session as its owner sees it. */
export interface OpenSession extends SessionOrigin {
  /** Tells it from the person's others, and opens nothing. */
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly isCurrent: boolean;
}

/** `last-owner`: other people belong to the named organizations, and none of them is an owner. */
export type PersonRemoval =
  | { readonly type: "removed"; readonly revokedKeyIds: readonly string[] }
  | { readonly type: "last-owner"; readonly organizations: readonly string[] };

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
  openSession(userId: string, hash: Buffer, lifetimeSeconds: number, origin: SessionOrigin): Promise<void>;
  /** Open sessions of a person, newest first, at most a hundred. `current` is the asking one's hash. */
  sessions(userId: string, current: Buffer): Promise<readonly OpenSession[]>;
  /** Ends one of a person's sessions. Its hash, or null when the person has no such session. */
  endSession(userId: string, sessionId: string): Promise<Buffer | null>;
  /** Ends all of a person's sessions but one. Their hashes. */
  endOtherSessions(userId: string, current: Buffer): Promise<readonly Buffer[]>;
  /**
   * Removes a person, their sessions, memberships and invitations for good. Organizations stay with their ledger; where the
   * person was alone, their keys are revoked.
   */
  remove(userId: string): Promise<PersonRemoval>;
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
  /** False when `byUserId` is no owner any more. */
  rename(change: { organizationId: string; byUserId: string; name: string }): Promise<boolean>;
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

interface ConsoleKeys {
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
  /** `paid` once there was a top-up. */
  readonly tier: OrganizationTier;
  readonly lastTopUp: { readonly credits: number; readonly createdAt: Date } | null;
}

type LedgerKind = "grant" | "topup" | "charge" | "refund";

export interface LedgerEntry {
  /** Rises with time; for paging. */
  readonly position: number;
  readonly kind: LedgerKind;
  /** Credits: what came in is positive, what went out negative. */
  readonly amount: number;
  /** The organization's credits after this entry, those that were set aside for work included. */
  readonly balance: number;
  /** Id of the request or live session that was charged or refunded; null for other entries. */
  readonly requestId: string | null;
  readonly endpoint: string | null;
  readonly keyName: string | null;
  readonly createdAt: Date;
}

/** Which entries of a ledger are wanted; null leaves nothing out. */
export interface LedgerFilter {
  readonly kind: LedgerKind | null;
  /** The first moment, and the first one behind the last. */
  readonly from: Date | null;
  readonly until: Date | null;
}

/** The entry below which a page begins. */
export interface LedgerCursor {
  readonly position: number;
  /** The balance right before that entry, if it is known: the way back to it is not summed up again then. */
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
  /** Newest first; `before` is the last one that was seen. */
  ledger(
    organizationId: string,
    page: { readonly filter: LedgerFilter; readonly before: LedgerCursor | null; readonly limit: number },
  ): Promise<LedgerEntry[]>;
  /** What was charged on the last `days` days, today included. */
  usage(organizationId: string, days: number): Promise<UsageRow[]>;
}

export interface AttemptRules {
  readonly attempts: number;
  readonly windowMs: number;
}

/** Attempts by name, counted for all services on one database. */
export interface Attempts {
  /**
   * Counts an attempt, unless there have been as many as there may be since the window began.
   * @returns null, or the whole seconds until the window ends
   */
  take(name: string, rules: AttemptRules): Promise<number | null>;
  /** Counts one attempt less. */
  giveBack(name: string): Promise<void>;
  /** Forgets all attempts. */
  clear(name: string): Promise<void>;
}

/** Everything that the console remembers. */
export interface ConsoleStore {
  readonly users: Users;
  readonly resets: PasswordResets;
  readonly members: Members;
  readonly keys: ConsoleKeys;
  readonly reports: Reports;
  readonly attempts: Attempts;
}
