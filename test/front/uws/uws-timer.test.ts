import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_FRONT_LIMITS } from "../../../core/ports/front.js";
import { loadUwsBinding } from "../../../src/front/uws/load-binding.js";
import type { UwsApp } from "../../../src/front/uws/uws-binding.js";
import { UwsFront } from "../../../src/front/uws/uws-front.js";

/** Timer functions that the current library has but the front does not use. */
interface ToldApp extends UwsApp {
  getIdleTimeout(): number;
  getResponseTimeout(): number;
}

const binding = loadUwsBinding();
const skip =
  typeof binding === "string"
    ? "the native front does not load here"
    : binding.App().setIdleTimeout === undefined && "the library that loads here cannot be told";

test("the library closes idle connections after 10 s instead of 30 s", {
  skip,
}, async () => {
  if (typeof binding === "string") return;
  const apps: ToldApp[] = [];
  const watched = Object.create(binding, {
    App: {
      value: () => {
        const app = binding.App() as ToldApp;
        apps.push(app);
        return app;
      },
    },
  });
  const handlers = {
    request: async () => {},
    upgrade: () => Promise.reject(new Error("asked")),
    failed: (error: unknown) => assert.fail(String(error)),
  };
  const front = new UwsFront(watched, handlers, DEFAULT_FRONT_LIMITS);
  await front.close(0);
  const [served] = apps;
  assert.deepEqual([served?.getIdleTimeout(), served?.getResponseTimeout()], [10, 10]);
});
