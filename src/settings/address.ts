import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Where one who works on the same machine reaches a service that listens there. */
export function reachableUrl(host: string, port: number): string {
  const name = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** Tells those who know the data folder where the service listens: its port may be any, and set for its process alone. */
export async function leaveAddress(dataDir: string, url: string): Promise<void> {
  const path = addressPath(dataDir);
  // A reader finds the old address or the new one, never half of one.
  await writeFile(`${path}.new`, `${url}\n`);
  await rename(`${path}.new`, path);
}

/** Takes the address away again, unless another service has left its own meanwhile. */
export async function withdrawAddress(dataDir: string, url: string): Promise<void> {
  if ((await readAddress(dataDir)) === url) await rm(addressPath(dataDir), { force: true });
}

/** Where the service of a data folder listens; null when none does, or has not said so. */
export async function readAddress(dataDir: string): Promise<string | null> {
  const url = (await readFile(addressPath(dataDir), "utf8").catch(() => "")).trim();
  return /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "") ? url : null;
}

function addressPath(dataDir: string): string {
  return join(dataDir, "address");
}
