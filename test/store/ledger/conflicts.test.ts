import assert from "node:assert/strict";
import { test } from "node:test";
import { retryingConflicts } from "../../../src/store/ledger/holds.js";

const LOST = Object.assign(
  new Error("new multixact has more than one updating member: 0 3[9416 (nokeyupd)]"),
  {
    code: "XX000",
  },
);

/** A change that fails with these errors, one after another, before it succeeds. */
function failing(errors: readonly Error[]): {
  readonly run: () => Promise<string>;
  readonly tries: () => number;
} {
  let tries = 0;
  const run = async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
    return "done";
  };
  return { run, tries: () => tries };
}

test("a change after a conflict inside the database is tried three times", async () => {
  const change = failing([LOST]);
  assert.equal(await retryingConflicts(change.run), "done");
  assert.equal(change.tries(), 2);
  const hopeless = failing([LOST, LOST, LOST, LOST]);
  await assert.rejects(retryingConflicts(hopeless.run), LOST);
  assert.equal(hopeless.tries(), 3);
});

test("a change that checked an outdated account is retried", async () => {
  const stale = Object.assign(new Error("violates check constraint"), {
    code: "23514",
    table_name: "accounts",
  });
  const change = failing([stale]);
  assert.equal(await retryingConflicts(change.run), "done");
  const elsewhere = { code: "23514", table_name: "holds" };
  const wrong = failing([Object.assign(new Error("violates check constraint"), elsewhere), stale]);
  await assert.rejects(retryingConflicts(wrong.run));
  assert.equal(wrong.tries(), 1);
});

test("any other failure is reported immediately", async () => {
  for (const error of [new Error("multixact"), Object.assign(new Error("corrupt"), { code: "XX000" })]) {
    const change = failing([error]);
    await assert.rejects(retryingConflicts(change.run), error);
    assert.equal(change.tries(), 1);
  }
});
