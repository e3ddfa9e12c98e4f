// The last guard, for rejections that the patched driver still leaves unhandled.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../../../bench/support/free-port.js";
import { connect } from "../../../src/store/postgres/connect.js";
import { guardAgainstDriver } from "../../../src/store/postgres/driver-faults.js";
import { pace } from "../../support/pace.js";
import { SILENT } from "../../support/silent-log.js";

const SELF = fileURLToPath(import.meta.url);

async function endOf(what: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [SELF, what], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, said };
}

/** Runs in a separate process, because an unhandled rejection would end the test. */
async function beGuarded(what: string): Promise<void> {
  let faultCount = 0;
  guardAgainstDriver({ log: SILENT, onFault: () => faultCount++ });
  if (what === "driver") {
    const sql = connect(
      { host: "127.0.0.1", port: await freePort(), user: "a", password: "b", database: "c" },
      SILENT,
    );
    // This query has no handler.
    sql`select 1`.execute();
    await once(process, "unhandledRejection");
    await sql.end({ timeout: 0 });
  } else {
    void Promise.reject(new TypeError("a mistake of ours"));
    await pace(10_000);
  }
  process.stdout.write(`went on after ${faultCount}\n`);
}

if (process.argv[2] !== undefined) await beGuarded(process.argv[2]);
else {
  test("the process survives and counts unhandled rejections of the driver", async () => {
    assert.deepEqual(await endOf("driver"), { code: 0, said: "went on after 1\n" });
  });

  test("any other unhandled rejection ends the process", async () => {
    const { code, said } = await endOf("other");
    assert.equal(code, 1);
    assert.match(said, /TypeError: a mistake of ours/);
  });
}
