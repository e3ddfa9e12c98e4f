import { ServiceError } from "../../../core/domain/errors.js";

const LONGEST_URL = 4_096;
/** Ports below this belong to system services, of which only the web's are allowed. */
const FIRST_USER_PORT = 1_024;
const WEB_PORTS = [80, 443];

/**
 * Parses a client's URL and checks its text; its address is checked when the connection is opened. `URL`
 * normalizes octal, hexadecimal, short, percent-encoded and full-width hosts to the address that they stand
 * for.
 *
 * @param base of a relative redirect
 * @throws {ServiceError} `URL_FETCH_FAILED`
 */
export function parseAudioUrl(text: string, base?: URL): URL {
  if (text.length > LONGEST_URL) throw refused(`it must be at most ${LONGEST_URL} characters long`);
  if (!URL.canParse(text, base?.href)) throw refused("it must be an absolute http or https URL");
  const url = new URL(text, base);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refused("its scheme must be http or https");
  if (url.username !== "" || url.password !== "") throw refused("it must not hold user info");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (port < FIRST_USER_PORT && !WEB_PORTS.includes(port)) {
    throw refused(`its port must be 80, 443 or at least ${FIRST_USER_PORT}, received ${port}`);
  }
  url.hash = "";
  return url;
}

/** Returns the host, without the brackets around an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** @param why must not quote a server's response */
export function refused(why: string, cause?: unknown): ServiceError {
  return new ServiceError("URL_FETCH_FAILED", `Cannot fetch the url: ${why}`, { cause });
}
