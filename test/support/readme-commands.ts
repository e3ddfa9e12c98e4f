import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../../../", import.meta.url);
/** Documents with commands to paste. */
const DOCUMENTS = [
  "README.md",
  "docs/api.md",
  "docs/api-speech.md",
  "docs/api-transcription.md",
  "docs/api-account.md",
];

/**
 * Returns the shell blocks with curl in README.md and the pages of the HTTP API. They call a service at
 * another address, with its key in the environment.
 *
 * @throws if one of the documents has no such block
 */
export function pastedCurlBlocks(serviceUrl: string): string[] {
  return DOCUMENTS.flatMap((name) => {
    const text = readFileSync(fileURLToPath(new URL(name, ROOT)), "utf8");
    // Match every block, so that a closing fence is not taken for the start of the next one.
    const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
      .filter(([, language = ""]) => ["", "sh", "bash"].includes(language))
      .map((match) => match[2]!)
      .filter((block) => /^curl /m.test(block))
      .map((block) => block.replaceAll("http://127.0.0.1:8080", serviceUrl))
      .map((block) => block.replaceAll("ws://127.0.0.1:8080", serviceUrl.replace("http", "ws")))
      .map((block) => block.replaceAll(/^(?:export DAUYS_API_KEY=|npx dauys ).*$/gm, ""));
    if (blocks.length === 0) throw new Error(`${name} shows no curl command`);
    return blocks;
  });
}
