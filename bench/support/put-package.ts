import { copyFile, link, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readManifest } from "../../native/models/find-packages.js";
import { packageFiles } from "../../native/models/package-files.js";

/**
 * Puts a package into another folder, with entries of its manifest replaced. Creates hard links if the file
 * system supports them: copies would fill the page cache twice.
 */
export async function putPackage(
  from: string,
  to: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const manifest = await readManifest(from);
  await mkdir(to, { recursive: true });
  const own = JSON.parse(await readFile(join(from, "manifest.json"), "utf8")) as object;
  await writeFile(join(to, "manifest.json"), JSON.stringify({ ...own, ...changes }));
  const paths = packageFiles(manifest?.files ?? {}).map(({ path }) => path);
  for (const path of new Set(paths)) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await link(join(from, path), join(to, path)).catch(() => copyFile(join(from, path), join(to, path)));
  }
}
