import type { UsagePeriod } from "../domain/usage/period.js";
import type { Credits, UsageRow } from "./console-store.js";

/** What was charged on one day for one kind of work on one path, whatever the key. */
export type UsageSum = Pick<UsageRow, "day" | "kind" | "endpoint" | "requests" | "quantity" | "credits">;

/** What an organization's keys may ask about its account. */
export interface AccountReports {
  /** @throws {ServiceError} `AUTH_UNAVAILABLE` when the store cannot be asked */
  credits(organizationId: string): Promise<Credits>;
  /**
   * By day, kind and path, in this order.
   * @throws {ServiceError} `AUTH_UNAVAILABLE` as `credits`
   */
  usage(organizationId: string, period: UsagePeriod): Promise<readonly UsageSum[]>;
}
