import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY_ENDPOINTS, type KeyEndpoint } from "../../core/domain/key-limits.js";
import { requireEndpoint } from "../../core/protocol/endpoint-scopes.js";
import { ENDPOINTS, type Endpoint } from "../../core/protocol/endpoints.js";
import { codeSpans, read, section, tableRows } from "./markdown.js";

const LIMITS = section(read("docs/api-account.md"), "## Limits of keys");
/** Rows of the groups; other tables of the section start with plain text. */
const ROWS = tableRows(LIMITS).filter(([name = ""]) => name.startsWith("`"));

test("docs/api-account.md lists exactly the groups that keys can be restricted to", () => {
  assert.deepEqual(
    ROWS.map(([name = ""]) => codeSpans(name)[0]),
    KEY_ENDPOINTS,
  );
});

for (const group of KEY_ENDPOINTS) {
  test(`docs/api-account.md lists exactly the endpoints of the group ${group}`, () => {
    const [, endpoints = ""] = ROWS.find(([name = ""]) => codeSpans(name)[0] === group) ?? [];
    const allowed = ENDPOINTS.filter((endpoint) => isAllowed([group], endpoint) && !isAllowed([], endpoint));
    assert.deepEqual(codeSpans(endpoints).flatMap(named).toSorted(), allowed.map(operation).toSorted());
  });
}

test("docs/api-account.md names every endpoint for which any key works", () => {
  const shown = codeSpans(LIMITS);
  for (const endpoint of ENDPOINTS) {
    if (endpoint.isOpen === true || !isAllowed([], endpoint)) continue;
    assert.ok(shown.includes(operation(endpoint)), operation(endpoint));
  }
});

/** Returns the operations that a path stands for: all of its methods, unless the page gives one. */
function named(shown: string): readonly string[] {
  const found = ENDPOINTS.filter((endpoint) => [endpoint.path, operation(endpoint)].includes(shown));
  assert.ok(found.length > 0, `the API has no ${shown}`);
  return found.map(operation);
}

function isAllowed(groups: readonly KeyEndpoint[], { method, path }: Endpoint): boolean {
  try {
    requireEndpoint(groups, method, path);
    return true;
  } catch {
    return false;
  }
}

function operation({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}
