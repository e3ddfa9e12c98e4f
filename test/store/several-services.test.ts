// What services on one database agree on: two stores, as two services open them.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openStore, type Store } from "../../src/store/store.js";
import { temporaryFolder } from "../support/folders.js";
import { preparedFolder } from "../support/prepared-database.js";
import { SILENT } from "../support/silent-log.js";
import { databaseUrlOf, privateStore } from "./support.js";

describe("two stores on one database", { concurrency: 1 }, () => {
  let one: Store;
  let other: Store;
  let databaseUrl: string;
  let keyPepper: string;

  before(async () => {
    const dataDir = await preparedFolder();
    one = await openStore(privateStore(dataDir), SILENT);
    databaseUrl = await databaseUrlOf(dataDir);
    keyPepper = (await readFile(join(dataDir, "key-pepper"), "utf8")).trim();
    other = await openStore(privateStore(await temporaryFolder(), { databaseUrl, keyPepper }), SILENT);
  });
  after(async () => {
    await other?.close();
    await one?.close();
  });

  test("they have the same secrets, another one for each purpose, and the same time", () => {
    assert.deepEqual(one.secretFor("a"), other.secretFor("a"));
    assert.notDeepEqual(one.secretFor("a"), one.secretFor("b"));
    assert.ok(Math.abs(one.sharedClock.nowMs() - other.sharedClock.nowMs()) < 5_000);
  });

  test("a token is used once, however many services are shown it at once, and not with a revoked key", async () => {
    const identity = { keyId: "key_unknown", organizationId: "org_development", tier: "free" } as const;
    const token = { id: randomBytes(16), untilMs: one.sharedClock.nowMs() + 60_000, identity };
    const tries = [one, other, one, other].map((store) => store.tokenUses.use(token));
    assert.equal((await Promise.all(tries)).filter((isFirst) => isFirst).length, 1);
    const organizationId = "org_development";
    await one.organizations.ensure(organizationId, "development");
    const key = await one.apiKeys.create({ organizationId, name: "ends" });
    const another = { ...token, id: randomBytes(16), identity: { ...identity, keyId: key.id } };
    await other.apiKeys.revoke(key.id);
    assert.equal(await one.tokenUses.use(another), false);
  });
});
