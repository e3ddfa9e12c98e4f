import type { KeyLimits } from "../domain/key-limits.js";
import type { UsagePeriod } from "../domain/usage/period.js";
import type { Credits, KeyMonth, UsageRow } from "./console-store.js";

/** Charges of one day for one kind of work on one path, over all keys. */
export type UsageSum = Pick<UsageRow, "day" | "kind" | "endpoint" | "requests" | "quantity" | "credits">;

/** A key with its limits and the current month. */
export interface KeyReport extends KeyLimits {
  readonly name: string;
  readonly month: KeyMonth;
}

/** Reports that an organization's keys may request. */
export interface AccountReports {
  /** A stored key; null for another id. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  key(keyId: string): Promise<KeyReport | null>;
  /** @throws {ServiceError} `AUTH_UNAVAILABLE` when the store does not answer */
  credits(organizationId: string): Promise<Credits>;
  /** Sorted by day, kind and path. @throws {ServiceError} `AUTH_UNAVAILABLE` */
  usage(organizationId: string, period: UsagePeriod): Promise<readonly UsageSum[]>;
}
