import assert from "node:assert/strict";
import { Bench } from "tinybench";
import { normalizeKazakh } from "../../src/domain/text/kazakh/normalize.js";
import { splitIntoPieces, splitIntoSentences } from "../../src/domain/text/sentences.js";
import { saveResult, taskFigures } from "../save-result.js";

const PARAGRAPH =
  "2024 жылы 5 мамырда Алматы қ. 15%-ға өсім болды: 500 000 ₸ немесе $1,5 млн. Сағат 14:30-да ХХІ ғасырдың №5 мектебінде " +
  "«Google-дың» өкілдері А. Байтұрсынұлы туралы айтты. Қазақстанның түкпір-түкпірінен келген оқушылар көп болды, олар " +
  "таңертеңнен кешке дейін үйде, түзде, далада еркін жүріп, жаңа достар тапты. ";
const SPOKEN_BEGIN =
  "екі мың жиырма төртінші жылы бесінші мамырда алматы қаласы он бес пайызға өсім болды: бес жүз мың теңге";
/** The longest text that one request may hold. */
const TEXT = PARAGRAPH.repeat(Math.ceil(5_000 / PARAGRAPH.length)).slice(0, 5_000);

/** From a request's text to what a voice is given, for the longest text there is. */
export async function run(options: { readonly smoke: boolean }): Promise<void> {
  assert.ok(normalizeKazakh(TEXT, { expand: true }).spoken.startsWith(SPOKEN_BEGIN));
  const bench = new Bench({ time: options.smoke ? 20 : 2_000, retainSamples: true });
  bench.add("sentences", () => void splitIntoSentences(TEXT));
  bench.add("normalize", () => void normalizeKazakh(TEXT, { expand: true }));
  bench.add("normalize, not expanded", () => void normalizeKazakh(TEXT, { expand: false }));
  bench.add("sentences, normalize, pieces", () => {
    for (const sentence of splitIntoSentences(TEXT)) {
      splitIntoPieces(normalizeKazakh(sentence, { expand: true }).spoken);
    }
  });
  await bench.run();
  const figures = taskFigures(bench);
  for (const { name, p50Ms } of figures)
    console.log(`normalize ${name}: ${p50Ms.toFixed(2)} ms per 5000 characters`);
  if (!options.smoke) await saveResult("normalize", { parameters: { characters: TEXT.length }, figures });
}
