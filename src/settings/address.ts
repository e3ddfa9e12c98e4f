import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Returns the URL of a local service, given the address on which it listens. */
export function reachableUrl(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Writes the service's URL into its data folder, for local clients that do not know the port. */
export async function publishAddress(dataDir: string, url: string): Promise<void> {
  const path = addressPath(dataDir);
  // Rename it into place, so that readers never see half an address.
  await writeFile(`${path}.new`, `${url}\n`);
  await rename(`${path}.new`, path);
}

/** Removes the address, unless another service has published its own. */
export async function withdrawAddress(dataDir: string, url: string): Promise<void> {
  if ((await readAddress(dataDir)) === url) await rm(addressPath(dataDir), { force: true });
}

/** Reads the URL of the service that uses a data folder. Null if no service has published one. */
export async function readAddress(dataDir: string): Promise<string | null> {
  const url = (await readFile(addressPath(dataDir), "utf8").catch(() => "")).trim();
  return /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "") ? url : null;
}

function addressPath(dataDir: string): string {
  return join(dataDir, "address");
}
