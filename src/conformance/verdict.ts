/** The result of a check: passed, how the session differed, or why the check could not decide. */
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

/** Returns the first failure; without one, the first skip; otherwise that all checks passed. */
export function together(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find(({ status }) => status === "failed") ??
    verdicts.find(({ status }) => status === "skipped") ??
    PASSED
  );
}
