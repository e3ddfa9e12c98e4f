import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const README = fileURLToPath(new URL("../../../README.md", import.meta.url));

/** The shell blocks of README.md that call curl, for a service at another address and with its key in the environment. */
export function readmeCurlBlocks(serviceUrl: string): string[] {
  const blocks = [...readFileSync(README, "utf8").matchAll(/^```(?:sh|bash)?\n(.*?)^```$/gms)];
  return blocks
    .map((match) => match[1]!)
    .filter((block) => /^curl /m.test(block))
    .map((block) => block.replaceAll("http://127.0.0.1:8080", serviceUrl))
    .map((block) => block.replaceAll("ws://127.0.0.1:8080", serviceUrl.replace("http", "ws")))
    .map((block) => block.replace(/^export DAUYS_API_KEY=.*$/m, ""));
}
