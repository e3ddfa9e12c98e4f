import { readFileSync } from "node:fs";

/** Version of the package that answers; the interface has its own. From `dist/core/protocol` to the package's folder. */
export const SERVICE_VERSION: string = (
  JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
