import { ServiceError } from "../../../core/domain/errors.js";

const LONGEST_URL = 4_096;
/** Ports below this belong to system services; of those only the web's own are asked. */
const FIRST_USER_PORT = 1_024;
const WEB_PORTS = [80, 443];

/**
 * A URL that may be asked for, as far as its text tells; its address is judged when it is connected to.
 *
 * The parser is the browsers' one: numbers in octal, hexadecimal or short form, percent-encoded and full-width hosts come
 * out of it as the address they stand for.
 *
 * @param base what a redirect is relative to
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

/** A host without the brackets that a URL puts around an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** @param why never holds anything that a server answered */
export function refused(why: string, cause?: unknown): ServiceError {
  return new ServiceError("URL_FETCH_FAILED", `Cannot fetch the url: ${why}`, { cause });
}
