import { type ChildProcess, execFile, type SpawnOptions, spawn } from "node:child_process";
import { chown, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** A way to start PostgreSQL, which refuses to run as root. */
export interface PostgresLauncher {
  /** Name for messages, such as "user namespace" or "user nobody". */
  readonly name: string;
  readonly prefix: readonly string[];
  /** The OS user who runs the programs and owns their files; null for the current user. */
  readonly user: OsUser | null;
}

interface OsUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export interface LauncherChoice {
  readonly postgresPath: string;
  /** An existing folder that the server must be able to write to. */
  readonly clusterDir: string;
  /** Owner of the existing cluster's files; null for a new cluster. */
  readonly ownerUid: number | null;
}

const DIRECT: PostgresLauncher = { name: "this user", prefix: [], user: null };
/** Root outside, an ordinary user inside, so files keep their owner. */
const USER_NAMESPACE: PostgresLauncher = {
  name: "user namespace",
  prefix: ["unshare", "-U", "--map-user=1000", "--map-group=1000"],
  user: null,
};
/** When the service is killed, the kernel sends SIGINT, on which PostgreSQL shuts down fast. */
const END_WITH_PARENT = ["setpriv", "--pdeathsig", "INT"];
const SERVICE_USERS = ["postgres", "nobody"];
const PROBE_TIMEOUT_MS = 10_000;

const run = promisify(execFile);

/**
 * Finds a way to start PostgreSQL here. Gives the folder of a new cluster to the user who will own it.
 *
 * @throws {Error} that lists each attempt and suggests `DATABASE_URL`
 */
export async function chooseLauncher(choice: LauncherChoice): Promise<PostgresLauncher> {
  const endsWithParent = await endWithParent();
  const failures: string[] = [];
  for (const candidate of await candidates(choice.ownerUid)) {
    const launcher = { ...candidate, prefix: [...candidate.prefix, ...endsWithParent] };
    if (choice.ownerUid === null) await handOver(choice.clusterDir, launcher);
    const failure = await probe(launcher, choice);
    if (failure === null) return launcher;
    failures.push(`${launcher.name}: ${failure}`);
  }
  throw new Error(
    `Cannot start a private PostgreSQL: no user can run it here (${failures.join("; ")}). ` +
      "Start the service as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own",
  );
}

/** Starts a program in a separate process group, so that Ctrl-C in a terminal reaches only the service. */
export function launch(
  launcher: PostgresLauncher,
  command: readonly string[],
  options: Pick<SpawnOptions, "stdio">,
): ChildProcess {
  const [file, ...rest] = [...launcher.prefix, ...command];
  return spawn(file!, rest, {
    ...options,
    ...identity(launcher),
    env: environment(),
    cwd: "/",
    detached: true,
  });
}

/** Gives a file or folder to the user who runs the server. */
export async function handOver(path: string, launcher: PostgresLauncher): Promise<void> {
  if (launcher.user !== null) await chown(path, launcher.user.uid, launcher.user.gid);
}

async function candidates(ownerUid: number | null): Promise<readonly PostgresLauncher[]> {
  if (process.getuid?.() !== 0) return [DIRECT];
  if (ownerUid === 0) return [USER_NAMESPACE];
  const users = await osUsers();
  if (ownerUid !== null) {
    const owner = users.find((user) => user.uid === ownerUid);
    return [asUser(owner ?? { name: String(ownerUid), uid: ownerUid, gid: ownerUid })];
  }
  const services = SERVICE_USERS.flatMap((name) => users.filter((user) => user.name === name));
  return [USER_NAMESPACE, ...services.map(asUser)];
}

function asUser(user: OsUser): PostgresLauncher {
  return { name: `user ${user.name}`, prefix: [], user };
}

async function osUsers(): Promise<OsUser[]> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  return lines
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= 4)
    .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

async function endWithParent(): Promise<readonly string[]> {
  const [file, ...rest] = [...END_WITH_PARENT, "true"];
  // Without setpriv (not Linux, or a minimal userland), the server of a killed service keeps running until
  // the next start.
  return await run(file!, rest, { timeout: PROBE_TIMEOUT_MS }).then(
    () => END_WITH_PARENT,
    () => [],
  );
}

/** Tries the server program and write access to its folder. Returns what went wrong, or null. */
async function probe(launcher: PostgresLauncher, choice: LauncherChoice): Promise<string | null> {
  const script =
    '"$0" --version >/dev/null && test -w "$1" -a -x "$1" || { echo "cannot reach $0 or $1" >&2; exit 1; }';
  const [file, ...rest] = [...launcher.prefix, "sh", "-c", script, choice.postgresPath, choice.clusterDir];
  const options = { ...identity(launcher), env: environment(), cwd: "/", timeout: PROBE_TIMEOUT_MS };
  try {
    await run(file!, rest, options);
    return null;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return (stderr?.trim() || message).split("\n").at(-1)!;
  }
}

function identity(launcher: PostgresLauncher): Pick<SpawnOptions, "uid" | "gid"> {
  return launcher.user === null ? {} : { uid: launcher.user.uid, gid: launcher.user.gid };
}

/**
 * Passes on nothing of our environment: no secrets, and no PG* variables that would configure the private
 * server.
 */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"] ?? "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" };
}
