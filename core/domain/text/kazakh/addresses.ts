import { spokenLatin } from "./latin.js";
import { LOWER } from "./letters.js";
import { codeGroup } from "./numbers.js";
import { matchAt, type Reading, WORD_END } from "./reading.js";
import { isEnding } from "./suffixes.js";
import { saidWord } from "./words.js";

/** Source: symbol rows of facts-kk.tsv for some; the others are the marks' own names. */
const MARKS: Readonly<Record<string, string>> = {
  ".": "нүкте",
  "@": "ат белгісі",
  "-": "сызықша",
  _: "астыңғы сызық",
  "/": "қиғаш сызық",
  ":": "қос нүкте",
  "?": "сұрақ белгісі",
  "=": "тең",
  "&": "және",
  "#": "тор",
  "%": "пайыз",
  "+": "плюс",
  "~": "тильда",
};

const NAME = "[A-Za-z\\d](?:[A-Za-z\\d_-]{0,61}[A-Za-z\\d])?";
/** At most nine names, to avoid quadratic time on a line of dots. */
const HOST = `${NAME}(?:\\.${NAME}){0,8}`;
const TOP = "(?:kz|com|org|net|ru|io|gov|edu|info|app|dev|uz|kg|tr|cn|uk|de|eu|me|tv|ai)";
const PATH = "(?:[/?#](?:[A-Za-z\\d/_.~%=&?#+:-]*[A-Za-z\\d/=_])?)?";
const PORT = "(?::\\d{1,5})?";
/** Accepts any host with a scheme or "www.", otherwise only a known top-level domain: "Node.js" is a name. */
const ADDRESS = new RegExp(
  `(?:(https?:\\/\\/)${HOST}${PORT}${PATH}|www\\.${HOST}${PATH}|[A-Za-z\\d](?:[A-Za-z\\d._+-]{0,62}[A-Za-z\\d_])?@${HOST}` +
    `|${HOST}\\.${TOP}(?![A-Za-z\\d_])${PORT}${PATH})(?:-([${LOWER}]+)${WORD_END})?`,
  "yu",
);
const PARTS = /[A-Za-z]+|\d+|./gu;
/** Quick test: every address has one of these marks after its first name. */
const HINT = /[A-Za-z\d][A-Za-z\d._+-]{0,62}[@.:][A-Za-z\d/]/uy;

/**
 * Reads web and mail addresses, name by name and mark by mark; the scheme of a link is silent.
 *
 * @param spokenName returns the reading of a name in a dictionary
 */
export function addressRule(
  text: string,
  at: number,
  spokenName?: (name: string) => string | undefined,
): Reading | null {
  if (matchAt(HINT, text, at) === null) return null;
  const match = matchAt(ADDRESS, text, at);
  if (match === null) return null;
  const [written, scheme = "", ending] = match;
  const address = written.slice(scheme.length, ending === undefined ? undefined : -ending.length - 1);
  const spoken = (address.match(PARTS) ?? []).map((part) => spokenName?.(part) ?? spokenPart(part)).join(" ");
  const withItsEnding =
    ending === undefined ? spoken : isEnding(ending) ? spoken + ending : `${spoken} ${saidWord(ending)}`;
  return { spoken: withItsEnding, next: at + written.length };
}

function spokenPart(part: string): string {
  if (/^\d/.test(part)) return codeGroup(part);
  return MARKS[part] ?? spokenLatin(part);
}
