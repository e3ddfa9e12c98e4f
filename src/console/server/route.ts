import type { Log } from "../../../core/observe/log.js";
import type { Clock } from "../../../core/ports/clock.js";
import type { ConsoleStore, NewResets, Role, User } from "../../../core/ports/console-store.js";
import type { Mailer } from "../../../core/ports/mailer.js";
import type { TopUps } from "../../../core/ports/top-ups.js";
import { countedAddress, type TrustedProxies } from "../../http/client-address.js";
import type { Exchange } from "../../http/exchange.js";
import type { KeyEndings } from "../../http/key-endings.js";
import type { Route } from "../../http/router.js";
import type { TemporaryKeys } from "../../http/signed-credentials.js";
import { ConsoleError } from "./console-error.js";
import type { PasswordCost } from "./passwords.js";
import type { ServiceFacts } from "./service-facts.js";

/** Sends mail with links to the console. */
export interface ConsoleMailing {
  readonly mailer: Mailer;
  /** URL without a trailing slash. */
  readonly publicUrl: string;
  readonly resets: NewResets;
}

export interface ConsoleDeps {
  readonly store: ConsoleStore;
  readonly topUps: TopUps;
  /** Null if no mail server is configured. */
  readonly mailing: ConsoleMailing | null;
  readonly temporaryKeys: TemporaryKeys;
  readonly endings: KeyEndings;
  readonly proxies: TrustedProxies;
  readonly facts: ServiceFacts;
  /** Cost of hashing new passwords. */
  readonly passwordCost: PasswordCost;
  readonly clock: Clock;
  readonly log: Log;
}

/** A request that anyone may send. */
export interface OpenCall {
  readonly exchange: Exchange;
  readonly deps: ConsoleDeps;
  /** Returns the segment of the path at `:name`. */
  param(name: string): string;
  /** Returns the JSON body. @throws if there is none */
  body(): Promise<unknown>;
}

/** A request by a signed-in user. */
export interface UserCall extends OpenCall {
  readonly user: User;
  /** Hash of the session's cookie. */
  readonly session: Buffer;
}

/** A request about one of the user's organizations. */
export interface MemberCall extends UserCall {
  readonly organizationId: string;
  readonly role: Role;
}

export interface ConsoleAnswer {
  readonly status?: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Null if the handler has already responded. */
type Handled = Promise<ConsoleAnswer | null>;

/** One route of the console's API; paths of `member` and `owner` routes contain `:organization`. */
export type ConsoleRoute = { readonly method: Route["method"]; readonly path: string } & (
  | { readonly access: "open"; handle(call: OpenCall): Handled }
  | { readonly access: "user"; handle(call: UserCall): Handled }
  | { readonly access: "member" | "owner"; handle(call: MemberCall): Handled }
);

export const API = "/console/api";
export const ORGANIZATION = `${API}/organizations/:organization`;

/** Returns the name under which attempts from the request's network address are counted. */
export function addressOf({ exchange, deps }: OpenCall): string {
  return countedAddress(deps.proxies.clientOf(exchange.request));
}

/** Responds identically for a missing organization and for one to which the user does not belong. */
export function noOrganization(): ConsoleError {
  return new ConsoleError("not_found", "no such organization, or you are not a member");
}

export function ownersOnly(): ConsoleError {
  return new ConsoleError("owner_only", "only owners of the organization can do this");
}
