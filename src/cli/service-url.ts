import { resolve } from "node:path";
import { reachableUrl, readAddress } from "../settings/address.js";
import { DEFAULT_DATA_DIR, DEFAULT_HOST, DEFAULT_PORT } from "../settings/defaults.js";
import { type CommandInput, UsageError } from "./command.js";

export const URL_HELP =
  "--url URL  address of the service (DAUYS_URL; else by PORT and HOST, where the service of DATA_DIR listens, " +
  `${reachableUrl(DEFAULT_HOST, DEFAULT_PORT)})`;

/** An address of the service, and whether somebody said so who may know how others reach it. */
export interface ServiceUrl {
  readonly url: string;
  readonly isGiven: boolean;
}

/**
 * Where the service is: what was said comes first, then the settings that a service beside this command has, then what it
 * left in its data folder.
 *
 * @throws {UsageError} for an address that is none of http or https
 */
export async function serviceUrl({ options, environment }: CommandInput): Promise<ServiceUrl> {
  const given = options.text("url") ?? (environment["DAUYS_URL"]?.trim() || null);
  if (given !== null) {
    if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
      throw new UsageError(`--url must be an address of http or https, received "${given}"`);
    }
    return { url: given.replace(/(?<!\/)\/+$/, ""), isGiven: true };
  }
  const port = environment["PORT"]?.trim() ?? "";
  const host = environment["HOST"]?.trim() || DEFAULT_HOST;
  // Port 0 is any free one: only the service itself knows which.
  if (/^[1-9]\d{0,4}$/.test(port)) return { url: reachableUrl(host, Number(port)), isGiven: false };
  const left = await readAddress(resolve(environment["DATA_DIR"]?.trim() || DEFAULT_DATA_DIR));
  return { url: left ?? reachableUrl(host, DEFAULT_PORT), isGiven: false };
}
