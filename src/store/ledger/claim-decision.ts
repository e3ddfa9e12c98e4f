/** What is known of the last attempt under a key. */
export interface LastAttempt {
  readonly state: "running" | "over" | "answered";
  readonly isSameRequest: boolean;
  /** The service that worked for it gives signs of life. */
  readonly isServiceAlive: boolean;
  /** Kept long enough. */
  readonly isExpired: boolean;
  /** Null while it has none. */
  readonly holdState: "open" | "posted" | "settled" | "voided" | null;
  /** Units that it and the attempts before it were charged for. */
  readonly paidUnits: number;
  /** They were charged for all of it. */
  readonly isWhollyPaid: boolean;
  /** Its answer was looked for and is gone. */
  readonly isAnswerLost: boolean;
}

export type ClaimDecision =
  | { readonly type: "in-use" }
  | { readonly type: "reused" }
  | { readonly type: "replay" }
  /** Another attempt begins, with what was paid so far or as if there had been none. */
  | {
      readonly type: "take-over";
      readonly isPaidKept: boolean;
      /** The last attempt may still be about to open a hold, which must not happen any more. */
      readonly mayOpenHold: boolean;
    };

/**
 * What becomes of a request whose key was used before. Money decides, not what services believe: as long as a hold is in
 * work, nobody knows what the last attempt will have cost.
 */
export function decideClaim(last: LastAttempt): ClaimDecision {
  const isRunning = last.state === "running" && last.isServiceAlive;
  const isInWork = last.holdState === "open" || last.holdState === "posted";
  const isExpired = last.isExpired && !isRunning && !isInWork;
  if (!last.isSameRequest && !isExpired) return { type: "reused" };
  if (isRunning || isInWork) return { type: "in-use" };
  const isPaid = last.paidUnits > 0;
  // A crash may have given back the charge of an answer, or a part of it: then the rest has to be paid first.
  const isReplayable = last.state === "answered" && last.isWhollyPaid && !last.isAnswerLost;
  if (isReplayable && !isExpired) return { type: "replay" };
  const mayOpenHold = last.state === "running" && last.holdState === null;
  return { type: "take-over", isPaidKept: isPaid && !isExpired, mayOpenHold };
}
