import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { checkPort } from "../../../src/front/shared/check-port.js";

const LAST_PORT = 65_535;

test("suggests the previous port instead of one beyond the last", async () => {
  const other = createServer().listen(LAST_PORT, "127.0.0.1");
  // If another program already uses the port, the test works too.
  await once(other, "listening").catch(() => {});
  const settings = { host: "HOST", port: "PORT" };
  await assert.rejects(
    checkPort({ host: "127.0.0.1", port: LAST_PORT, settings }),
    /set PORT to another port, such as 65534$/,
  );
  other.close();
});
