import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";
import { writtenFigures } from "../../core/domain/text/figures/figures.js";
import type { BenchOptions } from "../bench-options.js";
import { saveResult } from "../save-result.js";
import { corpusLines } from "../support/corpora.js";

const SEED = 1_305;
const DRAWN = 100;
const LANGUAGES = ["kk", "ru"] as const;
const AROUND = 5;
const SMOKE_LINES = 200;

/**
 * `npm run bench -- figures [--seed 1305]`: counts the numbers that `auto` writes in digits in text without
 * digits, and lists 100 of each language, drawn at random, for a person to read. Takes half a minute.
 */
export async function run({ smoke, args }: BenchOptions): Promise<void> {
  const at = args.indexOf("--seed");
  const seed = at === -1 ? SEED : Number(args[at + 1]);
  const languages = LANGUAGES.map((language) => {
    const lines = linesOf(language).slice(0, smoke ? SMOKE_LINES : undefined);
    const all = lines.flatMap(conversionsOf);
    const words = lines.reduce((sum, line) => sum + line.length, 0);
    const random = uniformRandom(seed);
    const drawn = Array.from({ length: DRAWN }, () => all[Math.floor(random() * all.length)]);
    return {
      language,
      words,
      conversions: all.length,
      perThousandWords: (1_000 * all.length) / words,
      drawn,
    };
  });
  for (const { language, conversions, perThousandWords, drawn } of languages) {
    console.log(`${language}: ${conversions} figures, ${perThousandWords.toFixed(2)} per 1,000 words`);
    if (!smoke) for (const [nth, one] of drawn.entries()) console.log(`${nth + 1}. ${one}`);
  }
  if (!smoke) console.log(await saveResult("figures", { parameters: { seed, drawn: DRAWN }, languages }));
}

/** Returns the words of lines without digits and Latin letters. */
function linesOf(language: string): string[][] {
  return [`${language}.txt.br`, `${language}-heldout.txt.br`]
    .flatMap(corpusLines)
    .filter((line) => !/[\dA-Za-z]/.test(line))
    .map((line) => line.toLowerCase().match(/[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu) ?? [])
    .filter((words) => words.length > 0);
}

/** Lists conversions in their context: "қала халқы [он → 10] есе өсті". */
function conversionsOf(words: readonly string[]): string[] {
  return writtenFigures(words, "auto")
    .filter(({ text, first, end }) => end - first > 1 || text !== words[first])
    .map(({ text, first, end }) => {
      const before = words.slice(Math.max(0, first - AROUND), first).join(" ");
      const said = words.slice(first, end).join(" ");
      return `${before} [${said} → ${text}] ${words.slice(end, end + AROUND).join(" ")}`.trim();
    });
}
