import type { ServedPart } from "../../../core/domain/served.js";
import type { CreditPrice } from "../../../core/domain/usage/credit-price.js";
// Import this file, not the whole client library: every page loads it, and only the playground needs the
// client.
import { ApiError, DauysError, LiveError } from "../../client/errors.js";
import { Store } from "./store.js";

/** An error to show. Its code selects the text in the reader's language. */
export class Problem extends Error {
  readonly code: string;
  readonly requestId: string | null;
  /** The service's own English text; null if the code says enough. */
  readonly detail: string | null;

  constructor(code: string, requestId: string | null, detail: string | null = null) {
    super(code);
    this.code = code;
    this.requestId = requestId;
    this.detail = detail;
  }
}

export interface Organization {
  readonly id: string;
  readonly name: string;
  readonly role: "owner" | "member";
}
export interface Session {
  readonly user: { readonly id: string; readonly email: string } | null;
  readonly organizations: readonly Organization[];
  /** Parts of the API served at this address; absent if nobody is signed in. */
  readonly serve?: readonly ServedPart[];
}
export type KeyEndpoint = "tts" | "transcribe" | "live" | "jobs" | "account:read" | "account:write";
export interface ApiKey {
  readonly id: string;
  readonly prefix: string;
  readonly last_four: string;
  readonly name: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
  readonly monthly_credits: number | null;
  readonly endpoints: readonly KeyEndpoint[] | null;
  readonly expires_at: string | null;
  readonly previous_secret_until: string | null;
  /** Usage by month, the current month first. */
  readonly usage: readonly { readonly month: string; readonly credits: number; readonly held: number }[];
  readonly created_by: { readonly user_id: string; readonly email: string } | null;
}
export interface Credits {
  readonly balance: number;
  readonly held: number;
  readonly available: number;
  readonly tier: "free" | "paid";
  readonly last_top_up: { readonly credits: number; readonly created_at: string } | null;
}
export interface LedgerEntry {
  readonly kind: "grant" | "topup" | "charge" | "refund";
  readonly credits: number;
  /** Balance after this ledger entry. */
  readonly balance: number;
  readonly request_id: string | null;
  readonly endpoint: string | null;
  readonly key_name: string | null;
  readonly created_at: string;
}
/** The service's prices, which anyone may read. */
export interface Prices {
  readonly tariffs: Readonly<
    Record<UsageRow["kind"], { readonly credits: number; readonly per_units: number }>
  >;
  readonly credit_price: CreditPrice | null;
  /** The operator's e-mail address or https URL. */
  readonly contact: string | null;
  /** Whether the service sends mail. */
  readonly mail: boolean;
}
/** A list, as the console's API returns it. */
export interface List<T> {
  readonly data: readonly T[];
}
export interface OpenSession {
  readonly id: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly address: string | null;
  readonly agent: string | null;
  readonly is_current: boolean;
}
export interface UsageRow {
  readonly day: string;
  readonly kind: "synthesis" | "file" | "live";
  readonly endpoint: string | null;
  readonly key_id: string | null;
  readonly key_name: string | null;
  readonly requests: number;
  readonly quantity: number;
  readonly credits: number;
}
export interface Member {
  readonly user_id: string;
  readonly email: string;
  readonly role: "owner" | "member";
  readonly created_at: string;
}
export interface Invitation {
  readonly id: string;
  readonly role: "owner" | "member";
  readonly expires_at: string;
}

/** Null until the session is loaded. */
export const currentSession = new Store<Session | null>(null);
export const creditsChanged = new EventTarget();

/** Calls the console's own API. @throws {Problem} if the call fails */
export async function callApi<T>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: object,
): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(`/console/api${path}`, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
  } catch {
    throw new Problem("connection", null);
  }
  const json: unknown = await answer.json().catch(() => null);
  if (answer.ok) return json as T;
  const code = (json as { readonly code?: string } | null)?.code ?? "unavailable";
  if (code === "not_signed_in") currentSession.set({ user: null, organizations: [] });
  throw new Problem(code, answer.headers.get("x-request-id"));
}

/** Converts anything thrown into a problem to show; null if the user cancelled. */
export function toProblem(thrown: unknown): Problem | null {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof DOMException && thrown.name === "AbortError") return null;
  if (!(thrown instanceof DauysError)) return new Problem("unknown", null);
  const code = thrown.code === "connection_failed" ? "connection" : thrown.code;
  const hasDetail = thrown instanceof ApiError || thrown instanceof LiveError;
  return hasDetail ? new Problem(code, thrown.requestId, thrown.detail) : new Problem(code, null);
}

/** Props that every signed-in page gets. */
export interface ViewProps {
  readonly organization: Organization;
  readonly session: Session;
}
