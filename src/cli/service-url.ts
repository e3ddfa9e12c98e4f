import { resolve } from "node:path";
import { reachableUrl, readAddress } from "../settings/address.js";
import { DEFAULT_DATA_DIR, DEFAULT_HOST, DEFAULT_PORT } from "../settings/defaults.js";
import { type CommandInput, UsageError } from "./command.js";

export const URL_HELP =
  "--url URL  address of the service (DAUYS_URL; else by PORT and HOST, where the service of DATA_DIR listens, " +
  `${reachableUrl(DEFAULT_HOST, DEFAULT_PORT)})`;

/** Options of commands whose host may be another one than that of the rest. */
export const STT_URL_OPTION = { "stt-url": { type: "string" } } as const;
export const STT_URL_HELP = "--stt-url URL  where files are transcribed (DAUYS_STT_URL; else as --url)";
export const STREAM_URL_OPTION = { "stream-url": { type: "string" } } as const;
export const STREAM_URL_HELP =
  "--stream-url URL  where live speech is heard (DAUYS_STREAM_URL; else as --url)";

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
  if (given !== null) return { url: addressOf(given, "url", /^https?:$/), isGiven: true };
  const port = environment["PORT"]?.trim() ?? "";
  const host = environment["HOST"]?.trim() || DEFAULT_HOST;
  // Port 0 is any free one: only the service itself knows which.
  if (/^[1-9]\d{0,4}$/.test(port)) return { url: reachableUrl(host, Number(port)), isGiven: false };
  const left = await readAddress(resolve(environment["DATA_DIR"]?.trim() || DEFAULT_DATA_DIR));
  return { url: left ?? reachableUrl(host, DEFAULT_PORT), isGiven: false };
}

/**
 * Where files are transcribed and live speech is heard, as far as it was said; else where everything is.
 *
 * @throws {UsageError} for an address that is none of http or https, or for live speech of ws or wss
 */
export function hostUrls({ options, environment }: CommandInput): {
  readonly sttUrl?: string;
  readonly streamUrl?: string;
} {
  // An address for all that was typed is nearer than one of the environment for a part.
  const isTyped = options.text("url") !== null;
  const said = (option: string, variable: string) =>
    options.text(option) ?? (isTyped ? null : environment[variable]?.trim() || null);
  const stt = said("stt-url", "DAUYS_STT_URL");
  const stream = said("stream-url", "DAUYS_STREAM_URL");
  return {
    ...(stt !== null && { sttUrl: addressOf(stt, "stt-url", /^https?:$/) }),
    ...(stream !== null && { streamUrl: addressOf(stream, "stream-url", /^(?:https?|wss?):$/) }),
  };
}

function addressOf(given: string, option: string, protocols: RegExp): string {
  if (!URL.canParse(given) || !protocols.test(new URL(given).protocol)) {
    throw new UsageError(`--${option} must be an address of http or https, received "${given}"`);
  }
  return given.replace(/(?<!\/)\/+$/, "");
}
