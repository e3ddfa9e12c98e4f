import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { originOf } from "../save-result.js";
import { MODELS } from "./paths.js";
import { evaluateRecognition, recognitionTable } from "./recognition.js";
import { evaluateSynthesis, synthesisTable } from "./synthesis.js";

const HELP = `npm run evaluate -- [recognition] [synthesis] [--sets kk-unseen,human] [--limit 20]

Scores the models and prints Markdown tables; both when no part is named. Speech is generated on the first run (needs
espeak-ng and Python). A run without --sets and --limit is written to models/<id>/evaluation.json and CARD.md.
  --sets           comma-separated words; a set of the recogniser is scored when its name contains one of them
  --limit          utterances per set or voice; a quick look takes 10
  --recognizer     id of a model, svc-kk-ru-v2
  --synthesizer    id of a model, svc-kk-v1`;
const PARTS = ["recognition", "synthesis"];
/** Between these two lines stands a card's table. */
const CARD_TABLE = /(<!-- evaluation -->\n)[\s\S]*(<!-- \/evaluation -->)/;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    recognizer: { type: "string", default: "svc-kk-ru-v2" },
    synthesizer: { type: "string", default: "svc-kk-v1" },
    sets: { type: "string", default: "" },
    limit: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const isUnknown = positionals.some((part) => !PARTS.includes(part));
if (values.help || isUnknown) {
  console.log(HELP);
  process.exitCode = isUnknown ? 2 : 0;
} else {
  await evaluate();
}

async function evaluate(): Promise<void> {
  const sets = values.sets.split(",").filter((word) => word !== "");
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit);
  if (!(limit >= 1)) throw new Error(`Cannot evaluate: --limit must be 1 or more, received ${values.limit}`);
  const isWhole = sets.length === 0 && limit === Number.POSITIVE_INFINITY;
  const isWanted = (part: string) => positionals.length === 0 || positionals.includes(part);
  if (isWanted("recognition")) {
    const report = await evaluateRecognition({ modelId: values.recognizer, sets, limit });
    await publish(report, recognitionTable(report), isWhole);
  }
  if (isWanted("synthesis")) {
    const ids = { modelId: values.synthesizer, recognizerId: values.recognizer };
    const report = await evaluateSynthesis({ ...ids, limit });
    await publish(report, synthesisTable(report), isWhole);
  }
}

/** Prints a report; a whole one goes into the package: `evaluation.json`, and its table into `CARD.md`. */
async function publish(report: { readonly modelId: string }, table: string, isWhole: boolean): Promise<void> {
  console.log(`${table}\n`);
  if (!isWhole) return;
  const folder = `${MODELS}${report.modelId}/`;
  await writeFile(
    `${folder}evaluation.json`,
    `${JSON.stringify({ ...originOf("evaluation"), ...report }, null, 1)}\n`,
  );
  const card = await readFile(`${folder}CARD.md`, "utf8").catch(() => null);
  if (card === null || !CARD_TABLE.test(card)) {
    console.log(`saved evaluation.json of ${report.modelId}; it has no card with a place for the table`);
    return;
  }
  await writeFile(
    `${folder}CARD.md`,
    card.replace(CARD_TABLE, (_, before: string, after: string) => `${before}${table}\n${after}`),
  );
  console.log(`saved evaluation.json and the table in CARD.md of ${report.modelId}\n`);
}
