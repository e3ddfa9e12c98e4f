import { readFileSync } from "node:fs";

/** Version of the package, not of the interface. The URL is relative to `dist/core/protocol`. */
export const SERVICE_VERSION: string = (
  JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
