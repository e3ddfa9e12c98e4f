/** The outcome of a check: a difference, or why it cannot be decided. */
export type Verdict =
  | { readonly status: "passed" }
  | { readonly status: "failed"; readonly expected: string; readonly received: string }
  | { readonly status: "skipped"; readonly reason: string };

export const PASSED: Verdict = { status: "passed" };

export function failed(expected: string, received: string): Verdict {
  return { status: "failed", expected, received };
}

export function skipped(reason: string): Verdict {
  return { status: "skipped", reason };
}

/** Returns a failure unless the condition holds. */
export function passedIf(holds: boolean, expected: string, received: () => string): Verdict {
  return holds ? PASSED : failed(expected, received());
}

/** Returns the first failure, else the first skip, else that all have passed. */
export function together(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find(({ status }) => status === "failed") ??
    verdicts.find(({ status }) => status === "skipped") ??
    PASSED
  );
}
