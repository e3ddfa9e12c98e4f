import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../../bench/support/free-port.js";
import { EmbeddedPostgres } from "../../../src/store/postgres/embedded-postgres.js";
import { FolderInUse, isAlive } from "../../../src/store/postgres/folder-lock.js";
import { findPostgresBinaries } from "../../../src/store/postgres/postgres-binaries.js";
import { chooseLauncher } from "../../../src/store/postgres/postgres-launcher.js";
import { PostgresProcess } from "../../../src/store/postgres/postgres-process.js";
import { openStore } from "../../../src/store/store.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { pace } from "../../support/pace.js";
import { SILENT } from "../../support/silent-log.js";
import { startServiceProcess } from "../service-process.js";
import { privateStore } from "../support.js";

const IS_ROOT = process.getuid?.() === 0;

test("a private server starts, keeps its data and secrets, and stops", async (t) => {
  const dataDir = await temporaryFolder();
  const first = await openStore(privateStore(dataDir), SILENT);
  const { id } = await first.organizations.create("kept");
  await assert.rejects(openStore(privateStore(dataDir), SILENT), FolderInUse);
  const serverPid = await postmasterPid(dataDir);
  await first.close();
  await first.close();
  assert.ok(!isAlive(serverPid));

  const second = await openStore(privateStore(dataDir), SILENT);
  t.after(() => second.close());
  assert.equal((await second.organizations.find(id))?.name, "kept");
  for (const secret of ["postgres-password", "postgres.json", "key-pepper"]) {
    assert.equal((await stat(join(dataDir, secret))).mode & 0o777, 0o600, secret);
  }
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.includes("new")),
    [],
  );

  await t.test("connections need the password", async () => {
    const { port, password } = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
    const { connect: open } = await import("../../../src/store/postgres/connect.js");
    const target = { host: "127.0.0.1", port, user: "dauys", database: "postgres" };
    const stranger = open({ ...target, password: `${password}x` }, SILENT);
    await assert.rejects(stranger`select 1`, /password authentication failed/);
    await stranger.end();
  });

  await t.test("a killed server restarts on its port with its data", async () => {
    const pid = await postmasterPid(dataDir);
    process.kill(pid, "SIGKILL");
    await eventually("another server", async () => ![pid, 0].includes(await postmasterPid(dataDir)));
    await eventually("answers", () => second.isReachable());
    assert.equal((await second.organizations.find(id))?.name, "kept");
  });

  await t.test("a restart waits until another process frees the port", async () => {
    const { port } = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8"));
    const stranger = createServer();
    let isTaken = false;
    stranger.once("listening", () => {
      isTaken = true;
    });
    const take = () => stranger.listen(port, "127.0.0.1");
    stranger.on("error", () => setImmediate(take));
    take();
    await killUntil(dataDir, () => isTaken);
    // Six crashes within half a minute would make the service give up on the server.
    await pace(5_000);
    stranger.close();
    await eventually("answers", () => second.isReachable());
    assert.equal((await second.organizations.find(id))?.name, "kept");
  });
});

/**
 * Kills the server, and each successor that restarts, until `isReached`. The pauses between restarts grow.
 */
async function killUntil(dataDir: string, isReached: () => boolean): Promise<void> {
  let killed = 0;
  await eventually("servers were killed", async () => {
    const pid = await postmasterPid(dataDir);
    if (isReached() || [0, killed].includes(pid)) return isReached();
    process.kill(pid, "SIGKILL");
    killed = pid;
    return false;
  });
}

test("the private server ends with its service, however the service ends", async (t) => {
  const dataDir = await temporaryFolder();
  const stopped = await startServiceProcess(dataDir);
  stopped.child.kill("SIGTERM");
  const [code] = await once(stopped.child, "exit");
  assert.equal(code, 0);
  assert.ok(!isAlive(stopped.serverPid));
  const names = await readdir(dataDir);
  assert.ok(!names.includes("dauys.lock") && !names.includes("postgres.json"), names.join());

  const killed = await startServiceProcess(dataDir);
  killed.child.kill("SIGKILL");
  await once(killed.child, "exit");
  if (canEndWithParent()) await eventually("the server is gone", () => !isAlive(killed.serverPid));
  const store = await openStore(privateStore(dataDir), SILENT);
  t.after(() => store.close());
  assert.deepEqual(
    (await store.organizations.list()).map((each) => each.name),
    ["development"],
  );
});

test("leftovers of a killed service do not prevent the next start", async (t) => {
  const dataDir = await temporaryFolder();
  // These are left by a start that was interrupted while it created the cluster.
  await mkdir(join(dataDir, "postgres.new/base"), { recursive: true });
  await writeFile(join(dataDir, "postgres.new-password.1-x"), "secret");
  await (await startPrivate(dataDir)).stop();
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.includes("new")),
    [],
  );

  await t.test("an orphaned server is stopped", async () => {
    const orphan = await startOrphan(dataDir);
    const server = await startPrivate(dataDir);
    await orphan.ended;
    assert.ok(await accepts(server.connection.port));
    await server.stop();
  });

  await t.test("a reused process id is ignored", async () => {
    // This process is not a database server, but PostgreSQL would mistake it for one.
    const lines = [process.ppid, join(dataDir, "postgres"), 1, 5432, "", "127.0.0.1", "1 1", "ready"];
    await writeFile(join(dataDir, "postgres/postmaster.pid"), `${lines.join("\n")}\n`);
    const server = await startPrivate(dataDir);
    assert.ok(await accepts(server.connection.port));
    await server.stop();
  });

  await t.test("a server that keeps crashing is given up after five restarts", async () => {
    const server = await startPrivate(dataDir);
    // Every restart fails immediately, because the cluster has an unknown version.
    const versionFile = join(dataDir, "postgres/PG_VERSION");
    await writeFile(versionFile, "7\n");
    process.kill(server.pid!, "SIGKILL");
    assert.match((await server.lost).message, /ended 6 times in 30 s/);
    await server.stop();
    await writeFile(versionFile, "18\n");
  });

  await t.test("a lost password is reported", async () => {
    await rm(join(dataDir, "postgres-password"));
    await assert.rejects(openStore(privateStore(dataDir), SILENT), /password authentication failed/);
    await (await startPrivate(dataDir)).stop();
  });
});

test("root without user namespaces runs the cluster as an OS user, or reports what to do", {
  skip: !IS_ROOT,
}, async (t) => {
  const dataDir = await temporaryFolder();
  const path = process.env["PATH"];
  t.after(async () => {
    process.env["PATH"] = path;
  });
  const fakes = join(dataDir, "fakes");
  await mkdir(fakes);
  await writeFile(join(fakes, "unshare"), "#!/bin/sh\necho no namespaces here >&2\nexit 1\n", {
    mode: 0o755,
  });
  process.env["PATH"] = `${fakes}:${path}`;

  await chmod(dataDir, 0o700);
  await assert.rejects(
    startPrivate(dataDir),
    /user namespace: no namespaces here; .*user nobody: .*DATABASE_URL/,
  );

  await t.test("when everything is reachable", { skip: !(await canNobodyRun()) }, async () => {
    await chmod(dataDir, 0o711);
    const server = await startPrivate(dataDir);
    const { uid } = await stat(join(dataDir, "postgres"));
    assert.notEqual(uid, 0);
    await server.stop();
    // From now on the folder's owner decides, although user namespaces are available again.
    process.env["PATH"] = path;
    const again = await startPrivate(dataDir);
    assert.ok(await accepts(again.connection.port));
    await again.stop();
  });
});

async function startPrivate(dataDir: string): Promise<EmbeddedPostgres> {
  return await EmbeddedPostgres.start({ dataDir, purpose: "service", log: SILENT });
}

/** Starts an unsupervised server on the cluster. */
async function startOrphan(dataDir: string): Promise<PostgresProcess> {
  const { postgres } = await findPostgresBinaries();
  const clusterDir = join(dataDir, "postgres");
  const ownerUid = (await stat(clusterDir)).uid;
  return await PostgresProcess.start({
    launcher: await chooseLauncher({ postgresPath: postgres, clusterDir, ownerUid }),
    postgresPath: postgres,
    clusterDir,
    logPath: join(dataDir, "orphan.log"),
    port: await freePort(),
  });
}

/** Returns 0 if there is no server. */
async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(
    await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8").catch(() => "0"),
    10,
  );
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const outcome = await Promise.race([
    once(socket, "connect").then(() => true),
    once(socket, "error").then(() => false),
  ]);
  socket.destroy();
  return outcome;
}

function canEndWithParent(): boolean {
  return process.platform === "linux" && spawnSync("setpriv", ["--pdeathsig", "INT", "true"]).status === 0;
}

async function canNobodyRun(): Promise<boolean> {
  const { postgres } = await findPostgresBinaries();
  return spawnSync(postgres, ["--version"], { uid: 65_534, gid: 65_534, cwd: "/" }).status === 0;
}
