import assert from "node:assert/strict";
import { test } from "node:test";
import { corpusLines } from "../../../../bench/support/corpora.js";
import { type Numerals, writtenFigures } from "../../../../core/domain/text/figures/figures.js";
import { kazakhFigures } from "../../../../core/domain/text/figures/kazakh-figures.js";
import { joined, type Written } from "../../../../core/domain/text/figures/written.js";
import { normalizeKazakh } from "../../../../core/domain/text/kazakh/normalize.js";

const NBSP = /\u00a0/g;

function written(spoken: string, numerals: Numerals = "auto"): string {
  return joined(writtenFigures(spoken.split(" "), numerals)).replace(NBSP, " ");
}

for (const [spoken, expected] of [
  ["екі мың жиырма төртінші жылы он бесінші наурызда", "2024 жылы 15 наурызда"],
  ["жүз жиырма мың теңге", "120 000 теңге"],
  ["екі жүзге тарта мемлекет", "200-ге тарта мемлекет"],
  ["қырық бірінші орында", "41-ші орында"],
  ["он алтыншы рет", "16-шы рет"],
  ["үш бүтін оннан бес пайыз", "3,5 %"],
  ["отыз төрт бүтін оннан бес миллиард теңге", "34,5 млрд теңге"],
  ["халықтың жиырма пайызына", "халықтың 20 %-ына"],
  ["сағат он төрт отызда кездесеміз", "сағат 14:30-да кездесеміз"],
  [
    "байланыс нөмірі сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті",
    "байланыс нөмірі 8 701 123 45 67",
  ],
  ["отыз тоғыз қырық градус", "39–40 градус"],
  ["өткен ғасырдың тоқсаныншы жылдары", "өткен ғасырдың 90-жылдары"],
  ["он тоғызыншы ғасырда", "19-ғасырда"],
  ["бірінші сәуірге дейін", "1 сәуірге дейін"],
  ["бес километр жол", "5 километр жол"],
  ["жетпіс мың сексен мың теңге", "70 000–80 000 теңге"],
  ["екі үш мың теңге", "2–3 мың теңге"],
  ["жеті-сегіз миллион тонна", "7–8 млн тонна"],
  ["жиырма төрт жиырма бес мыңға дейін", "24–25 мыңға дейін"],
  ["екі миллионнан астам", "2 миллионнан астам"],
  ["бестен онға дейін", "бестен 10-ға дейін"],
  ["он алты отызда кездесеміз", "16:30-да кездесеміз"],
  ["он бес он алтыда", "он бес он алтыда"],
  ["бес жүз теңге елу тиын", "500 теңге 50 тиын"],
  ["плюс жеті жеті жүз бір жүз жиырма үш қырық бес алпыс жеті", "плюс 7 701 123 45 67"],
  ["сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті", "8 701 123 45 67"],
  ["он жетінші жылдағыдан көп", "17-жылдағыдан көп"],
  ["тоқсан теңге", "90 теңге"],
  ["тоқсан жасында", "90 жасында"],
  ["бұл он кітапты", "бұл 10 кітапты"],
] as const) {
  test(`writes "${spoken}" as "${expected}"`, () => assert.equal(written(spoken), expected));
}

for (const spoken of [
  "оны көрдім оның аты кім",
  "онда барамын оған айт",
  "сол үшін келдім",
  "бір адам келді",
  "бес бала ойнап жүр",
  "бірінші сынып",
  "тоқсаны аяқталды",
  "жүзіне қарады",
  "бір жетіден кейін",
  "бірге барайық бірден айт",
  "мың рахмет",
  "жүздеген адам",
  "үш жарым миллиард",
  "жарты миллион",
  "бірінші тоқсан қорытындысы",
  "сексен шықпай тоқсан кірмейді",
  "бетімді жүзімді жудым",
  "жеті күн өтті",
  "белгілі бір пайызға",
  "тоқсан жеті де екі миллион теңге",
  "тоқсан үш бүтін төрт миллиард теңге",
  "қырықтың бірі қыдыр",
  "бір сағат онда кірейін",
  "қырқынан шығару",
  "қазақ руларының үш жүз біріккенде",
  "жетінші және жиырма бірінші күні",
  "он екі жарым миллиард теңге",
  "алты жүз елу елу бір мың дозасын",
  "екі жүзді кім ойнады",
  "бір тиынға таласып",
  "екінші маусымда қатысушылар",
  "сағат он бір нөл-нөлден",
  "үш бүтін іі он оннан бір пайызға",
  "үшінші жыл қатарынан",
  "миллиондаған адам",
  "үштен бір бөлігі",
  "бес алты адам",
  "он пришёл домой",
  "осторожно он говорит осторожно",
  "он открыл глаза",
  "зачем он сюда идёт",
  "сорока летела",
  "семью люблю",
  "семью хлебами",
  "три посуду",
  "раз два три",
  "пол первого",
  "один из нас",
  "ни одной минуты",
  "одну минуту пожалуйста",
  "во сто раз больше",
  "сто раз говорила",
  "семь или восемь минут",
  "семь или десять минут",
  "из пятого в десятое",
  "десятая часть",
  "восьмой год подряд",
  "две минутки",
  "столетний дуб",
  "миллион двести",
  "девять двенадцать и восемьдесят четыре",
  "с семью друзьями",
  "пять человек",
  "один раз",
  "тысячи людей",
  "миллион раз",
  "вторая мировая война",
  "в половине десятого",
]) {
  test(`keeps the words of "${spoken}"`, () => assert.equal(written(spoken), spoken));
}

for (const [spoken, expected] of [
  [
    "он пятнадцатого марта две тысячи двадцать шестого года заплатил сто двадцать тысяч тенге",
    "он 15 марта 2026 года заплатил 120 000 тенге",
  ],
  ["двенадцать целых пять десятых процента", "12,5 %"],
  ["две целых и три сотых миллиона рублей", "2,03 млн рублей"],
  ["встреча в четырнадцать тридцать", "встреча в 14:30"],
  ["в девять ноль ноль", "в 9:00"],
  ["около сорока человек", "около 40 человек"],
  ["в девяностые годы двадцатого века", "в 90-е годы XX века"],
  ["двадцать пятая школа", "25-я школа"],
  ["к двадцать пятому числу", "к 25-му числу"],
  ["ста пятьюдесятью рублями", "150 рублями"],
  ["двадцать тридцать человек", "20–30 человек"],
  ["две три тысячи рублей", "2–3 тысячи рублей"],
  ["десять пятнадцать тысяч тенге", "10–15 тысяч тенге"],
  ["восемнадцатый год подряд", "18-й год подряд"],
  ["в семнадцать тридцать", "в 17:30"],
  ["с первого по десятое мая", "с 1-го по 10 мая"],
  ["двадцать пять рублей тридцать копеек", "25 рублей 30 копеек"],
  ["восемь восемьсот сто ноль ноль ноль один", "8 800 100-00-01"],
  ["около сорока", "около 40"],
  ["с семью рублями", "с 7 рублями"],
  ["номер восемь семьсот один сто двадцать три сорок пять шестьдесят семь", "номер 8 701 123-45-67"],
  ["тысяча девятьсот сорок первый год", "1941 год"],
  ["пять миллионов двести тысяч", "5 200 000"],
  ["семь рублей", "7 рублей"],
] as const) {
  test(`writes "${spoken}" as "${expected}"`, () => assert.equal(written(spoken), expected));
}

test("writes Russian numbers in Kazakh sentences and Kazakh numbers in Russian ones", () => {
  assert.equal(
    written("мен сол күні сто двадцать тысяч теңге төледім"),
    "мен сол күні 120 000 теңге төледім",
  );
  assert.equal(written("потом мы поехали в аул за екі жүз теңге"), "потом мы поехали в аул за 200 теңге");
});

test("writes every number or none on request", () => {
  assert.equal(written("бес бала", "all"), "5 бала");
  assert.equal(written("пять человек", "all"), "5 человек");
  assert.equal(written("жүз жиырма мың теңге", "none"), "жүз жиырма мың теңге");
});

test("writes numbers in a row one by one on request", () => {
  assert.equal(written("бес алты тоғыз", "all"), "5 6 9");
  assert.equal(written("мың тоғыз жүз қырық алты екі мың бес", "all"), "1946 2005");
  assert.equal(written("один два три четыре пять", "all"), "1 2 3 4 5");
  assert.equal(written("бір жеті өтті", "all"), "бір жеті өтті");
});

test("writes every number of a very long run", () => {
  for (const word of ["бес", "пять"]) {
    const all = writtenFigures(Array<string>(400).fill(word), "all");
    assert.deepEqual([...new Set(all.map(({ text }) => text))], ["5"]);
  }
  assert.equal(written("двадцать пять ".repeat(40).trim(), "all"), "25 ".repeat(40).trim());
  assert.equal(written("жиырма бес ".repeat(40).trim(), "auto"), "25 ".repeat(40).trim());
});

test("figures stay correct without context: no words, one word", () => {
  for (const text of ["он", "бес", "пять", "три", "сорока", "hello", "-"]) {
    assert.equal(written(text), text);
    for (const numerals of ["auto", "all", "none"] as const)
      assert.deepEqual(writtenFigures([], numerals), []);
  }
});

test("pieces cover every word once, in order", () => {
  for (const line of spokenLines("kk-heldout.txt.br").slice(0, 300)) {
    let at = 0;
    for (const { first, end } of writtenFigures(line, "all")) {
      assert.equal(first, at);
      assert.ok(end > first);
      at = end;
    }
    assert.equal(at, line.length);
  }
});

test("the normalizer reads every Kazakh figure back as the spoken words", () => {
  let figures = 0;
  for (const line of spokenLines("kk.txt.br").filter((_, nth) => nth % 20 === 0)) {
    const pieces = kazakhFigures(line, "all");
    const changed = pieces.filter(isFigure);
    figures += changed.length;
    if (changed.length > 0) assert.equal(read(joined(pieces)), read(line.join(" ")), line.join(" "));
  }
  assert.ok(figures > 500, `${figures} figures`);
});

test("finds the numbers of sentences whose written form is known", () => {
  let [numbers, found] = [0, 0];
  for (const [line, digits] of knownFigures()) {
    numbers++;
    const texts = kazakhFigures(line, "all").map(({ text }) =>
      text.replace(NBSP, "").replace(/ (?=\d)/g, ""),
    );
    if (
      texts.some(
        (text) => text === digits || (/^\D/.test(text.slice(digits.length)) && text.startsWith(digits)),
      )
    )
      found++;
  }
  assert.ok(numbers > 300, `${numbers} numbers`);
  assert.ok(found / numbers >= 0.97, `${found} of ${numbers}`);
});

function isFigure({ text }: Written): boolean {
  return /\d/.test(text);
}

/** Words of lines without figures, as from a recogniser. */
function spokenLines(file: string): string[][] {
  return corpusLines(file)
    .filter((line) => !/[\dA-Za-z]/.test(line))
    .map((line) => line.toLowerCase().match(/[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu) ?? [])
    .filter((words) => words.length > 0);
}

/** Lines with one plain number, spelled out by the normalizer. */
function* knownFigures(): Generator<[string[], string]> {
  for (const line of corpusLines("kk.txt.br").filter((_, nth) => nth % 5 === 0)) {
    const all = line.match(/\d+/g) ?? [];
    const [digits = ""] = all;
    if (all.length !== 1 || /[A-Za-z]/.test(line) || !/^[1-9]\d{1,5}$/.test(digits)) continue;
    if (!new RegExp(`(?:^| )${digits} (?=\\p{Ll})`, "u").test(line)) continue;
    const { spoken } = normalizeKazakh(line.toLowerCase(), { expand: true });
    const words = spoken.match(/[\p{L}\p{M}]+(?:-[\p{L}\p{M}]+)*/gu) ?? [];
    if (spoken.includes("—")) continue;
    yield [words, digits];
  }
}

function read(text: string): string {
  return normalizeKazakh(text, { expand: true })
    .spoken.replace(/[^\p{L}]+/gu, " ")
    .trim()
    .replace(/(?<!\p{L})бір (?=мың|миллион|миллиард|триллион|жүз)/gu, "");
}
