import { ServiceError } from "../../../core/domain/errors.js";

export const METERING_UNAVAILABLE = "metering is not available at the moment";

export function outOfCredits(needed: number, left: number): ServiceError {
  return new ServiceError("OUT_OF_CREDITS", `out of credits: needs ${needed} credits, ${left} left`);
}

export function meteringUnavailable(cause?: unknown): ServiceError {
  return new ServiceError("AUTH_UNAVAILABLE", METERING_UNAVAILABLE, { cause });
}
