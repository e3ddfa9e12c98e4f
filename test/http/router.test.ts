import assert from "node:assert/strict";
import { test } from "node:test";
import { type Route, Router } from "../../src/http/router.js";

const handle = async () => {};
const route = (method: Route["method"], path: string): Route => ({ method, path, handle });

const router = new Router([
  route("GET", "/teams/all"),
  route("GET", "/teams/:team"),
  route("DELETE", "/teams/:team/members/:member"),
  ...(["GET", "POST"] as const).map((method) => ({ ...route(method, "/teams/*"), isSameOrigin: true })),
  route("POST", "/teams/deep/*"),
]);

const found = (method: string, path: string) => {
  const { route: one, params } = router.match(method, path);
  return [one?.path ?? null, params];
};

test("prefers an exact path to a pattern and a pattern to a prefix", () => {
  assert.deepEqual(found("GET", "/teams/all"), ["/teams/all", {}]);
  assert.deepEqual(found("GET", "/teams/a%20b"), ["/teams/:team", { team: "a%20b" }]);
  assert.deepEqual(found("DELETE", "/teams/1/members/2"), [
    "/teams/:team/members/:member",
    { team: "1", member: "2" },
  ]);
  assert.deepEqual(found("GET", "/teams/1/members"), ["/teams/*", {}]);
  assert.deepEqual(found("POST", "/teams/deep/1"), ["/teams/deep/*", {}]);
  assert.throws(() => router.match("GET", "/other"), /no such endpoint: GET \/other/);
});

test("falls back to a broader path for a missing method", () => {
  assert.deepEqual(found("POST", "/teams/all"), ["/teams/*", {}]);
  assert.deepEqual(found("HEAD", "/teams/all"), ["/teams/all", {}]);
  const { route: none, methods, isSameOrigin } = router.match("PUT", "/teams/1");
  assert.equal(none, null);
  assert.deepEqual([...methods].sort(), ["GET", "HEAD", "OPTIONS", "POST"]);
  assert.equal(isSameOrigin, true);
});

test("registering a method and path twice is a programming error", () => {
  assert.throws(() => new Router([route("GET", "/a/:b"), route("GET", "/a/:b")]), /twice/);
});
