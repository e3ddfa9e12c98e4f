import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { finished, pipeline } from "node:stream/promises";
import { extract, type Headers, pack } from "tar-stream";
import type { PackageFolder } from "../../../native/models/package.js";
import { packageFiles } from "../../../native/models/package-files.js";
import { isInnerPath } from "../catalogue.js";
import { syncPath } from "../durable.js";
import { AddError } from "./add-error.js";

/** Files that belong to a package but are not listed in its manifest. */
const UNLISTED = ["manifest.json", "CARD.md"];
/** More files than any package has; limits what a malicious bundle creates on disk. */
const MOST_FILES = 1_000;

/**
 * Writes a package into a tar file, as one folder named after its ID, and checks hashes.
 *
 * @param path path of the tar file, which is written atomically
 * @param onBytes receives the number of bytes written so far
 * @throws {AddError} if a file does not match the manifest
 */
export async function bundlePackage(
  { folder, manifest }: PackageFolder,
  path: string,
  { signal, onBytes }: { readonly signal: AbortSignal; readonly onBytes: (bytes: number) => void },
): Promise<{ readonly bytes: number }> {
  const part = join(dirname(path), `.${basename(path)}.part`);
  const tar = pack();
  const written = pipeline(tar, createWriteStream(part), { signal });
  // Awaited below; until then a rejection must not end the process.
  written.catch(() => {});
  let bytes = 0;
  try {
    for (const name of UNLISTED) {
      const text = await readFile(join(folder, name)).catch(() => null);
      if (text !== null) tar.entry({ name: `${manifest.id}/${name}`, mode: 0o644 }, text);
    }
    for (const file of packageFiles(manifest.files)) {
      const place = join(folder, file.path);
      const { size } = await stat(place);
      const hash = createHash("sha256");
      const entry = tar.entry({ name: `${manifest.id}/${file.path}`, size, mode: 0o644 });
      const counted = async function* (source: AsyncIterable<Buffer>) {
        for await (const chunk of source) {
          hash.update(chunk);
          bytes += chunk.length;
          onBytes(bytes);
          yield chunk;
        }
      };
      await pipeline(createReadStream(place), counted, entry, { signal });
      const sha256 = hash.digest("hex");
      if (sha256 !== file.sha256)
        throw new AddError(`${place} is damaged: its sha256 must be ${file.sha256}, found ${sha256}`);
    }
    tar.finalize();
    await written;
    await syncPath(part);
    await rename(part, path);
    return { bytes };
  } catch (error) {
    tar.destroy();
    await written.catch(() => {});
    await rm(part, { force: true });
    signal.throwIfAborted();
    throw error;
  }
}

/**
 * Unpacks a bundle.
 *
 * @param path path of a tar file that contains one folder with a manifest
 * @param folder an empty folder for the content
 * @throws {AddError} for entries that no bundle has: links, devices, or paths outside its folder
 */
export async function unpackBundle(path: string, folder: string, signal: AbortSignal): Promise<void> {
  const { size } = await stat(path);
  const tar = extract();
  const source = createReadStream(path);
  const fed = pipeline(source, tar, { signal });
  fed.catch(() => {});
  let root: string | null = null;
  let files = 0;
  let bytes = 0;
  try {
    for await (const entry of tar) {
      const { name, type, size: entryBytes = 0 } = entry.header as Headers;
      const inner = name.replace(/^\.\//, "").replace(/\/$/, "");
      if (type === "directory" && (inner === "" || inner === "." || isInnerPath(inner))) {
        entry.resume();
        continue;
      }
      const [first = "", ...rest] = inner.split("/");
      if (type !== "file" || !isInnerPath(inner) || rest.length === 0)
        throw new AddError(`${path} is not a bundle: it contains ${name} (${type ?? "nothing"})`);
      root ??= first;
      files++;
      bytes += entryBytes;
      // A malicious header may claim more bytes than the tar file has, to fill the disk.
      if (first !== root || files > MOST_FILES || bytes > size)
        throw new AddError(
          `${path} is not a bundle: it contains more than one package, or claims more bytes than it has`,
        );
      const place = join(folder, ...rest);
      await mkdir(dirname(place), { recursive: true });
      const target = createWriteStream(place, { flags: "wx" });
      entry.pipe(target);
      await finished(target);
    }
    await fed;
  } catch (error) {
    source.destroy();
    tar.destroy();
    await fed.catch(() => {});
    signal.throwIfAborted();
    if (error instanceof AddError) throw error;
    throw new AddError(`${path} cannot be read as a tar: ${(error as Error).message}`, { cause: error });
  }
  if (root === null) throw new AddError(`${path} is not a bundle: it contains no files`);
}
