import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { READABLE_PAGE, readableExamples } from "../support/readable-examples.js";
import { type SharedService, sharedService } from "../support/shared-service.js";

let service: SharedService;
let folder: string;

before(async () => {
  service = await sharedService();
  folder = await temporaryFolder();
});

test("the page has three examples in each language and a mixed one, each as words, text and subtitles", () => {
  const languages = readableExamples().map((steps) => {
    const transcripts = steps.filter(({ args }) => args[0] === "transcribe");
    const forms = transcripts.map(({ args }) => args.at(-1)!.replace(/^(?!--).*$|^all$/, ""));
    assert.deepEqual([transcripts.length, forms[0], forms.at(-1)], [3, "--plain", "--srt"]);
    const words = transcripts[0]!.output.split(" ");
    const kazakh = words.filter((word) => /[әғқңөұүһі]/.test(word));
    // "Теңге" is the word for money in both languages.
    if (kazakh.length < 2) return "ru";
    return words.some((word) => word.endsWith("дцать")) ? "mixed" : "kk";
  });
  assert.deepEqual(languages, [...["kk", "kk", "kk"], ...["ru", "ru", "ru"], "mixed"]);
});

for (const steps of readableExamples()) {
  const title = steps.flatMap(({ args }) => args.slice(1, 2)).at(0);
  test(`${READABLE_PAGE} shows what the commands print for ${title}`, async () => {
    const env = { DATA_DIR: service.dataDir, DAUYS_API_KEY: service.key };
    for (const { args, output } of steps) {
      const placed = args.map((arg) => (arg === "a.wav" ? join(folder, arg) : arg));
      const { code, stdout, stderr } = await dauysInTurn(placed, { env });
      assert.equal(code, 0, stderr);
      // Numbers have non-breaking spaces, but the page has ordinary ones.
      assert.equal(stdout.replaceAll("\u00a0", " ").trim(), output);
    }
  });
}
