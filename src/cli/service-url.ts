import { resolve } from "node:path";
import { reachableUrl, readAddress } from "../settings/address.js";
import { DEFAULT_DATA_DIR, DEFAULT_HOST, DEFAULT_PORT } from "../settings/defaults.js";
import { type CommandInput, UsageError } from "./command.js";

const HTTP = ["http", "https"];

/** Options of commands whose endpoint may run on another host. */
export const STT_URL_OPTION = { "stt-url": { type: "string" } } as const;
export const STREAM_URL_OPTION = { "stream-url": { type: "string" } } as const;

/**
 * An address of the service, and whether the user specified it and so may know how others reach the service.
 */
export interface ServiceUrl {
  readonly url: string;
  readonly isGiven: boolean;
}

/**
 * Returns the address of the service: `--url`, then `DAUYS_URL`, then the settings of a service on this
 * machine, then the address in its data folder.
 *
 * @throws {UsageError} if the address is not an http or https URL
 */
export async function serviceUrl({ options, environment }: CommandInput): Promise<ServiceUrl> {
  const typed = options.text("url");
  const given = typed ?? (environment["DAUYS_URL"]?.trim() || null);
  const name = typed === null ? "DAUYS_URL" : "--url";
  if (given !== null) return { url: addressOf(given, name, HTTP), isGiven: true };
  const port = environment["PORT"]?.trim() ?? "";
  const host = environment["HOST"]?.trim() || DEFAULT_HOST;
  // Port 0 stands for any free port, which only the service knows.
  if (/^[1-9]\d{0,4}$/.test(port)) return { url: reachableUrl(host, Number(port)), isGiven: false };
  const left = await readAddress(resolve(environment["DATA_DIR"]?.trim() || DEFAULT_DATA_DIR));
  return { url: left ?? reachableUrl(host, DEFAULT_PORT), isGiven: false };
}

/**
 * Returns the addresses of file and live transcription that differ from the service address.
 *
 * @throws {UsageError} if an address is not an http or https URL; live transcription also accepts ws and wss
 */
export function hostUrls({ options, environment }: CommandInput): {
  readonly sttUrl?: string;
  readonly streamUrl?: string;
} {
  // An explicit --url overrides the separate hosts of the environment.
  const isTyped = options.text("url") !== null;
  const find = (option: string, variable: string, protocols: readonly string[]) => {
    const typed = options.text(option);
    const given = typed ?? (isTyped ? null : environment[variable]?.trim() || null);
    return given === null ? null : addressOf(given, typed === null ? variable : `--${option}`, protocols);
  };
  const sttUrl = find("stt-url", "DAUYS_STT_URL", HTTP);
  const streamUrl = find("stream-url", "DAUYS_STREAM_URL", [...HTTP, "ws", "wss"]);
  return { ...(sttUrl !== null && { sttUrl }), ...(streamUrl !== null && { streamUrl }) };
}

/**
 * Checks an address, and removes trailing slashes.
 *
 * @param name the option or variable that contains the address
 * @throws {UsageError} if the address has another protocol
 */
export function addressOf(given: string, name: string, protocols: readonly string[]): string {
  const isValid = URL.canParse(given) && protocols.includes(new URL(given).protocol.slice(0, -1));
  if (!isValid) {
    const schemes = `${protocols.slice(0, -1).join(", ")} or ${protocols.at(-1)}`;
    throw new UsageError(`${name} must be an ${schemes} URL, received "${given}"`);
  }
  return given.replace(/(?<!\/)\/+$/, "");
}
