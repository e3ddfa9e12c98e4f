import { ServiceError } from "../../../core/domain/errors.js";

export function outOfCredits(needed: number, left: number): ServiceError {
  return new ServiceError("OUT_OF_CREDITS", `out of credits: needs ${needed} credits, ${left} left`);
}

/** The database cannot be asked: new work must wait. */
export function meteringUnavailable(cause?: unknown): ServiceError {
  return new ServiceError("AUTH_UNAVAILABLE", "metering is not available at the moment", { cause });
}
