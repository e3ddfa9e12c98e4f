import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { dauys } from "../cli/support.js";
import { temporaryFolder } from "../support/folders.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

const PAGE = "docs/readable-text.md";

interface Step {
  readonly args: readonly string[];
  /** The output that the page shows. */
  readonly output: string;
}

/** The commands of the page's examples, block by block. */
function examples(): readonly (readonly Step[])[] {
  const [, section = ""] = /^## Examples\n(.*?)^## /ms.exec(readFileSync(PAGE, "utf8")) ?? [];
  return [...section.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = ""]) =>
    block
      .split(/^\$ dauys /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...output] = step.split("\n");
        const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
        return { args, output: output.join("\n").trim() };
      }),
  );
}

let service: SharedService;
let folder: string;

before(async () => {
  service = await sharedService();
  folder = await temporaryFolder();
});

test("the page has three examples in each language", () => {
  const blocks = examples().map((steps) => JSON.stringify(steps));
  const kazakh = blocks.filter((block) => /[әғқңөұүһі]/.test(block) && !/[цщ]|его/.test(block));
  assert.deepEqual([blocks.length, kazakh.length], [6, 3]);
});

for (const steps of examples()) {
  const title = steps.flatMap(({ args }) => args.slice(1, 2)).at(0);
  test(`${PAGE} shows what the commands print for ${title}`, async () => {
    const env = { DATA_DIR: service.dataDir, DAUYS_API_KEY: service.key };
    for (const { args, output } of steps) {
      const placed = args.map((arg) => (arg === "a.wav" ? join(folder, arg) : arg));
      const { code, stdout, stderr } = await dauys(placed, { env });
      assert.equal(code, 0, stderr);
      // Figures have non-breaking spaces, the page has ordinary ones.
      assert.equal(stdout.replaceAll("\u00a0", " ").trim(), output);
    }
  });
}
