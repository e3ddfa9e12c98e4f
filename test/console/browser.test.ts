import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { endAtFirstFailure } from "../support/chain.js";
import { organizationCases } from "./browser-organization.js";
import { playgroundCases } from "./browser-playground.js";
import { signUpCases } from "./browser-sign-up.js";
import { charges, endVisit, faults, hosts, service, startVisit } from "./browser-visit.js";

describe("the console in a browser", () => {
  before(startVisit);
  after(endVisit);
  endAtFirstFailure();

  signUpCases();
  playgroundCases();
  organizationCases();

  test("the browser reported no error; the service's log contains no key", () => {
    assert.deepEqual(faults, []);
    assert.ok(charges.length >= 5, "charges were compared");
    assert.match(service.output(), /playground-key/, "the log has requests");
    // The service prints the development key at startup, in the operator's terminal.
    assert.ok(!service.output().replaceAll(service.key, "").includes("sk-svc-"));
    assert.deepEqual([...hosts], [new URL(service.url).host]);
  });
});
