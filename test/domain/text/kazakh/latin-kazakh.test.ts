import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { latinAlphabetOf } from "../../../../core/domain/text/kazakh/latin-kazakh.js";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";
import { spokenSentences } from "../../../../core/domain/text/spoken-sentences.js";
import { assertMapped } from "./word-map.js";

const spoken = (text: string) =>
  spokenSentences(text, { expand: true })
    .flatMap(({ pieces }) => pieces.map((piece) => piece.text))
    .join(" ");

test("text in a Latin alphabet is read as Kazakh, with numbers and abbreviations", () => {
  for (const [written, said] of [
    ["Latyn álipbıi", "латын әліпбиі"],
    ["Qazaqstan Respublikasy", "қазақстан республикасы"],
    ["Qaıyrly tań, dostar!", "қайырлы таң, достар!"],
    ["Bügın aua raiy jaqsy.", "бүгін ауа райы жақсы."],
    ["Ja'ne biz ko'shemiz.", "және біз көшеміз."],
    ["QAZAQSTAN RESPÝBLIKASY", "қазақстан республикасы"],
    ["Sh. Ýálıhanov kóshesi", "шы уәлиханов көшесі"],
    [
      "Qazaq tili 1989 jyly memlekettik til boldy, t.b.",
      "қазақ тілі мың тоғыз жүз сексен тоғызыншы жылы мемлекеттік тіл болды, тағы басқа.",
    ],
    [
      "XX ǵasyrda 5-synyp oqýshysy 10-nan 20-ǵa deıin sanady.",
      "жиырмасыншы ғасырда бесінші сынып оқушысы оннан жиырмаға дейін санады.",
    ],
    ["Men iPhone satyp aldym, Instagram-da júrmin.", "мен айфон сатып алдым, инстаграмда жүрмін."],
  ] as const) {
    assert.equal(spoken(written), said);
    assertMapped(written, normalizeKazakh(written, { expand: true }));
  }
});

test("a sentence without a distinctive word has the language of its text", () => {
  assert.equal(spoken("Qazaqstan halqy. Uly Gete. Jańa jyl."), "қазақстан халқы. ұлы гете. жаңа жыл.");
});

test("other languages, and Latin names in Cyrillic text, are read as before", () => {
  for (const text of [
    "The quick brown fox jumps over the lazy dog.",
    "Men in Black",
    "Kazakhstan is a country in Central Asia.",
    "Der Bär ist groß und schön.",
    "El niño está en la casa.",
    "Microsoft Office",
    "Open the door, please.",
    "Ол Apple компаниясында жұмыс істейді.",
    "Бұл Bala Time атты бағдарлама еді.",
  ]) {
    assert.equal(latinAlphabetOf(text), null, text);
  }
  assert.equal(spoken("Бұл Bala Time атты бағдарлама еді."), "бұл бала тайм атты бағдарлама еді.");
  assert.equal(spoken("Kaspi Bank пен Microsoft Office"), "каспи банк пен майкрософт офис");
});

test("no corpus line with Latin names is mistaken for Kazakh in Latin script", () => {
  const lines = corpusLines("kk-latin.txt.br");
  const taken = lines.filter((line) => /[a-z]{3}/i.test(line) && latinAlphabetOf(line) !== null);
  assert.deepEqual(taken, []);
});

test("corpus text written in the 2018 alphabet is read like the Cyrillic original", (context) => {
  const lines = corpusLines("kk-heldout.txt.br");
  const bare = (text: string) => text.match(/[а-яёәғқңөұүһі]+/g) ?? [];
  let words = 0;
  let right = 0;
  for (const line of lines.filter((candidate) => /^[а-яәғқңөұүһі ,.]+$/i.test(candidate))) {
    const said = bare(normalizeKazakh(line, { expand: true }).spoken);
    const fromLatin = bare(spoken(inLatin(line)));
    words += said.length;
    right += said.length === fromLatin.length ? said.filter((word, i) => word === fromLatin[i]).length : 0;
  }
  context.diagnostic(`${((right / words) * 100).toFixed(1)} % of ${words} words`);
  assert.ok(words > 1_000 && right / words >= 0.93, `${right} of ${words}`);
});

const LETTERS: Readonly<Record<string, string>> = Object.fromEntries(
  "аa әá бb вv гg ғǵ дd еe ёıo жj зz иı йı кk қq лl мm нn ңń оo өó пp рr сs тt уý ұu үú фf хh һh цts чch шsh щsh ъ ыy іi ь эe юıý яıa"
    .split(" ")
    .map((pair) => [pair[0]!, pair.slice(1)]),
);

/** The alphabet of 2018, letter by letter. */
function inLatin(text: string): string {
  return [...text]
    .map((letter) => {
      const latin = LETTERS[letter.toLowerCase()] ?? letter;
      return letter === letter.toLowerCase() ? latin : latin.charAt(0).toUpperCase() + latin.slice(1);
    })
    .join("");
}
