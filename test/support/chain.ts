import { afterEach, beforeEach } from "node:test";

/**
 * Fails the rest of a suite, or of a file, as soon as one test has failed. It is for tests that each continue
 * where the previous one stopped, and would otherwise wait for a state that never occurs.
 */
export function endAtFirstFailure(): void {
  let failed: string | null = null;
  beforeEach(() => {
    if (failed !== null) throw new Error(`not run, because "${failed}" failed`);
  });
  afterEach((context) => {
    // The types for Node 20 lack this member, although its runner sets it.
    const { passed } = context as { readonly passed?: boolean };
    if (passed === false) failed ??= context.name;
  });
}
