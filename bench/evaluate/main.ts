import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { originOf } from "../save-result.js";
import { MODELS } from "./paths.js";
import { evaluateRecognition, recognitionTable } from "./recognition.js";

const HELP = `npm run evaluate -- [--recognizer svc-kk-ru-v2] [--sets kk-unseen,human] [--limit 20]

Scores the models and prints Markdown tables. Speech is generated on the first run (needs espeak-ng and Python).
  --sets     comma-separated words; a set is scored when its name contains one of them
  --limit    utterances per set; a quick look takes 10

A run over every set without a limit is written to models/<id>/evaluation.json.`;

const { values } = parseArgs({
  options: {
    recognizer: { type: "string", default: "svc-kk-ru-v2" },
    sets: { type: "string", default: "" },
    limit: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) console.log(HELP);
else await evaluate();

async function evaluate(): Promise<void> {
  const sets = values.sets.split(",").filter((word) => word !== "");
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : Number(values.limit);
  if (!(limit >= 1)) throw new Error(`Cannot evaluate: --limit must be 1 or more, received ${values.limit}`);
  const report = await evaluateRecognition({ modelId: values.recognizer, sets, limit });
  console.log(recognitionTable(report));
  const { audioSeconds, realTimeFactor, beamMsPerAudioSecond } = report;
  console.log(
    `\n${(audioSeconds / 60).toFixed(1)} min of audio, RTF ${realTimeFactor.toFixed(4)}, of which the beam search ` +
      `${(beamMsPerAudioSecond / 1000).toFixed(4)}`,
  );
  if (sets.length === 0 && limit === Number.POSITIVE_INFINITY) await save(values.recognizer, report);
}

async function save(modelId: string, report: object): Promise<void> {
  const path = `${MODELS}${modelId}/evaluation.json`;
  await writeFile(path, `${JSON.stringify({ ...originOf("evaluation"), ...report }, null, 1)}\n`);
  console.log(`saved ${path}`);
}
