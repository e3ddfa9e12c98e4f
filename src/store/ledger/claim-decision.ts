/** State of the last attempt with a key. */
export interface LastAttempt {
  readonly state: "running" | "over" | "answered";
  readonly isSameRequest: boolean;
  /** True if its service still sends heartbeats. */
  readonly isServiceAlive: boolean;
  readonly isExpired: boolean;
  /** Null if it has no hold. */
  readonly holdState: "open" | "posted" | "settled" | "voided" | null;
  /** Units that this attempt and earlier ones were charged for. */
  readonly paidUnits: number;
  /** Whether all units have been charged. */
  readonly isWhollyPaid: boolean;
  /** True if its stored response is known to be missing. */
  readonly isAnswerLost: boolean;
}

export type ClaimDecision =
  | { readonly type: "in-use" }
  | { readonly type: "reused" }
  | { readonly type: "replay" }
  /** Another attempt starts, either with what was paid so far or from nothing. */
  | {
      readonly type: "take-over";
      readonly isPaidKept: boolean;
      /** True if the last attempt may be about to open a hold, which must be prevented. */
      readonly mayOpenHold: boolean;
    };

/**
 * Decides how to handle a request whose key was used before. An active hold blocks the request even if its
 * service has stopped, because the cost of the last attempt is still unknown.
 */
export function decideClaim(last: LastAttempt): ClaimDecision {
  const isRunning = last.state === "running" && last.isServiceAlive;
  const isInWork = last.holdState === "open" || last.holdState === "posted";
  const isExpired = last.isExpired && !isRunning && !isInWork;
  if (!last.isSameRequest && !isExpired) return { type: "reused" };
  if (isRunning || isInWork) return { type: "in-use" };
  const isPaid = last.paidUnits > 0;
  // After a crash, part of a response's charge may have been refunded. That part must be paid first.
  const isReplayable = last.state === "answered" && last.isWhollyPaid && !last.isAnswerLost;
  if (isReplayable && !isExpired) return { type: "replay" };
  const mayOpenHold = last.state === "running" && last.holdState === null;
  return { type: "take-over", isPaidKept: isPaid && !isExpired, mayOpenHold };
}
