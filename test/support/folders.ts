import { existsSync, rmSync } from "node:fs";
import { chmod, cp, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folders of the shipped packages. Tests run in the repository's root. */
export const RECOGNIZER_FOLDER = "models/svc-kk-ru-v2";
export const SYNTHESIZER_FOLDER = "models/svc-kk-v1";

const temporaryFolders: string[] = [];
process.on("exit", () => {
  for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true });
});

/** Creates a folder that is deleted when the test process ends, after everything in it is closed. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dauys-test-"));
  // A private server may run as another OS user, who needs access to the folder.
  await chmod(folder, 0o711);
  temporaryFolders.push(folder);
  return folder;
}

/** Copies a package so that a test may damage the copy. */
export async function copyOfPackage(packageFolder: string): Promise<string> {
  const folder = await temporaryFolder();
  await cp(packageFolder, folder, { recursive: true });
  return folder;
}

/** Replaces the manifest of a package with the result of `change`. */
export async function changeManifest(folder: string, change: (manifest: Json) => Json): Promise<void> {
  const path = join(folder, "manifest.json");
  const manifest = existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as Json) : {};
  await writeFile(path, JSON.stringify(change(manifest)));
}

export type Json = Readonly<Record<string, unknown>>;

/**
 * Returns a copy of a tiny package as `models add` would make it, with the voice activity graph for near
 * voices.
 */
export async function tinyWithNearVoice(id: string): Promise<string> {
  const copy = await copyOfPackage(`test/fixtures/adapters/${id}`);
  await changeManifest(copy, (manifest) => {
    const { vad: _, ...files } = manifest["files"] as Record<string, object>;
    return { ...manifest, files } as Record<string, Json>;
  });
  return copy;
}
