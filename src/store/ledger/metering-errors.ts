import { ServiceError } from "../../../core/domain/errors.js";
import type { Cover } from "./holds.js";

export const METERING_UNAVAILABLE = "metering is not available at the moment";

export function outOfCredits(needed: number, left: number): ServiceError {
  return new ServiceError("OUT_OF_CREDITS", `out of credits: needs ${needed} credits, ${left} left`);
}

/** Returns the error for work that exceeds a key's monthly cap. @param nowMs time of the wall clock */
export function keyBudgetExceeded(
  budget: { readonly cap: number; readonly needed: number; readonly left: number },
  nowMs = Date.now(),
): ServiceError {
  const { cap, needed, left } = budget;
  return new ServiceError(
    "KEY_BUDGET_EXCEEDED",
    `the monthly cap of this key is ${cap} credits: needs ${needed} credits, ${left} left until ${nextMonth(nowMs)}; ` +
      "raise the cap or use another key",
  );
}

/** Returns the error for a hold that needs `needed` more credits than it got. */
export function notCovered(
  { available, cap }: Pick<Cover, "available" | "cap">,
  needed: number,
): ServiceError {
  return cap === undefined
    ? outOfCredits(needed, available)
    : keyBudgetExceeded({ cap, needed, left: available });
}

/** Returns the UTC day on which the caps of keys reset, such as `2026-12-01`. */
export function nextMonth(nowMs: number): string {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString().slice(0, 10);
}

export function meteringUnavailable(cause?: unknown): ServiceError {
  return new ServiceError("AUTH_UNAVAILABLE", METERING_UNAVAILABLE, { cause });
}
