import { afterEach, beforeEach } from "node:test";

/**
 * Fails the rest of a suite, or of a file, immediately after its first failure. For tests that continue where
 * the previous one stopped: each of the others would wait for a state that never occurs.
 */
export function endAtFirstFailure(): void {
  let failed: string | null = null;
  beforeEach(() => {
    if (failed !== null) throw new Error(`not run, because "${failed}" failed`);
  });
  afterEach((context) => {
    // Missing in the types for Node 20, although its runner sets it.
    const { passed } = context as { readonly passed?: boolean };
    if (passed === false) failed ??= context.name;
  });
}
