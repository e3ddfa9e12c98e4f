import assert from "node:assert/strict";
import { test } from "node:test";
import { maskedText } from "../../../../core/domain/text/redaction/masks.js";
import { REDACTED_KINDS, redact } from "../../../../core/domain/text/redaction/redact.js";
import * as fc from "../../../support/properties.js";
import {
  broken,
  cards,
  digitsOf,
  grouped,
  groupings,
  iinCheck,
  iins,
  isPlain,
  type Language,
  localPhones,
  mixedGroupings,
} from "./numbers.js";

const LANGUAGES = fc.constantFrom<Language>("kazakh", "russian");

function masked(line: string): string {
  return maskedText(line, redact(line.split(" "), REDACTED_KINDS));
}

for (const [line, expected] of [
  // Telephone numbers.
  ["менің нөмірім сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті", "менің нөмірім [PHONE]"],
  ["сегіз жеті жүз бір бір жүз жиырма үш қырық бес алпыс жетіге звандаңыз", "[PHONE] звандаңыз"],
  ["плюс жеті жеті жүз жетпіс жеті жүз жиырма отыз төрт нөл бес рахмет", "[PHONE] рахмет"],
  ["сегіз жеті нөл бір бір екі үш төрт бес алты жеті деп жаз", "[PHONE] деп жаз"],
  ["звоните восемь семьсот один сто двадцать три сорок пять шестьдесят семь", "звоните [PHONE]"],
  [
    "плюс семь девятьсот шестнадцать сто двадцать три сорок пять шестьдесят семь два раза",
    "[PHONE] два раза",
  ],
  [
    "мой номер девятьсот шестнадцать сто двадцать три сорок пять шестьдесят семь он сказал",
    "мой номер [PHONE] он сказал",
  ],
  ["восемь девятьсот три три семёрки два нуля одиннадцать", "[PHONE]"],
  ["восемь семьсот два дальше ноль ноль ноль тире одиннадцать двадцать два", "[PHONE]"],
  ["сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті екі минут күтіңіз", "[PHONE] екі минут күтіңіз"],
  ["сегіз семьсот бір сто двадцать үш қырық бес шестьдесят семь", "[PHONE]"],
  ["он ноль восемь семьсот один сто двадцать три сорок пять шестьдесят семь", "он ноль [PHONE]"],
  [
    "сегіз жеті жүз бір жүз жиырма үш қырық бес алпыс жеті жүз жиырма мың теңге",
    "[PHONE] жүз жиырма мың теңге",
  ],
  ["карта 4111111111111111 два миллиона триста тысяч тенге", "карта [CARD] два миллиона триста тысяч тенге"],
  ["Менің Телефоным: +7 701 123-45-67, жаз!", "Менің Телефоным: [PHONE], жаз!"],
  ["87011234567 нөміріне", "[PHONE] нөміріне"],
  ["+7 (701) 123-45-67", "[PHONE]"],
  ["телефон 8-701-123-45-67-ге", "телефон [PHONE]"],
  ["нөмірім сегіз жеті жүз бір төрт жүз елу алты жеті мың сегіз жүз он екі", "нөмірім [PHONE]"],
  ["номер восемь семьсот один четыреста пятьдесят шесть семь тысяч восемьсот двенадцать", "номер [PHONE]"],
  ["восемь семь тысяч сто семьдесят два пятьдесят пять шестьдесят шесть семьдесят семь", "[PHONE]"],
  [
    "код города семьсот семнадцать два номер пятьдесят пять шестьдесят шесть семьдесят семь",
    "код города [PHONE]",
  ],
  ["астана коды жеті бір жеті екі нөмір елу бес алпыс алты жетпіс жеті", "астана коды [PHONE]"],
  [
    "телефоны сегіз жеті жүз жеті жүз жиырма төрт алпыс үш он жеті он бес минут",
    "телефоны [PHONE] он бес минут",
  ],
  // Individual identification numbers.
  [
    "жсн тоғыз жүз он бес жүз он үш елу нөл бір жиырма үш",
    "жсн тоғыз жүз он бес жүз он үш елу нөл бір жиырма үш",
  ],
  ["иин 900101300017", "иин [IIN]"],
  ["девяносто ноль один ноль один тридцать ноль ноль семнадцать", "[IIN]"],
  ["тоқсан нөл бір нөл бір отыз нөл нөл он жеті деген", "[IIN] деген"],
  // Cards with their expiry dates.
  ["карта 4400430112345674", "карта 4400430112345674"],
  ["карта 4111 1111 1111 1111", "карта [CARD]"],
  [
    "сорок один одиннадцать одиннадцать одиннадцать одиннадцать одиннадцать одиннадцать одиннадцать",
    "[CARD]",
  ],
  [
    "төрт мың жүз он бір бір мың жүз он бір бір мың жүз он бір бір мың жүз он бір он екі жиырма жеті",
    "[CARD] он екі жиырма жеті",
  ],
  // E-mail addresses.
  ["аман собака мейл ру", "[EMAIL]"],
  ["менің поштам айгүл точка омарова собака джимейл ком деп жазыңыз", "менің поштам [EMAIL] деп жазыңыз"],
  ["айгүл ит белгісі мейл нүкте ру", "[EMAIL]"],
  ["айгүл айқұлақ тау кен нүкте кз-ға жаз", "[EMAIL] жаз"],
  ["aman omarov собака яндекс точка кз", "[EMAIL]"],
  ["а м а н екі мың собака инбокс ру", "[EMAIL]"],
  ["моя почта это аман омаров собака тау кен точка кз", "моя почта это [EMAIL]"],
  ["info нижнее подчёркивание қазақ собака ка бэ тэ у точка еду точка кз", "[EMAIL]"],
  ["жаз айгүл жетпіс жеті собака мейл ру сосын күт", "жаз [EMAIL] сосын күт"],
  ["пиши на aman.omarov@mail.ru, жду", "пиши на [EMAIL], жду"],
  ["восемь семьсот один сто двадцать три сорок пять шестьдесят семь собака мейл ру", "[EMAIL]"],
] as const) {
  test(`masks "${line}" as "${expected}"`, () => assert.equal(masked(line), expected));
}

for (const line of [
  "сегіз жеті жүз бір",
  "злая собака во дворе",
  "у нас собака",
  "бір екі үш төрт бес алты жеті сегіз тоғыз он",
  "жүз жиырма үш мың төрт жүз елу алты теңге жетпіс сегіз тиын",
  "тысяча девятьсот сорок первый тысяча девятьсот сорок пятый",
  "екі мың жиырма үшінші жылы екі мың жиырма төртінші жылы",
  "он пришёл и сказал раз два три четыре пять шесть семь восемь девять десять",
  "шот нөмірі жүз он бес екі жүз отыз",
]) {
  test(`finds nothing in "${line}"`, () => assert.equal(masked(line), line));
}

test("leaves kinds that were not requested", () => {
  const words = "аман собака мейл ру 87011234567 900101300017".split(" ");
  assert.deepEqual(redact(words, ["iin"]), [{ kind: "iin", first: 5, end: 6 }]);
  assert.deepEqual(redact(words, []), []);
});

test("finds a telephone number inside an e-mail address if addresses are not requested", () => {
  assert.deepEqual(redact(["87011234567", "собака", "мейл", "ру"], ["phone"]), [
    { kind: "phone", first: 0, end: 1 },
  ]);
});

test("finds every telephone number, in any grouping and both languages", () => {
  const groups = fc.oneof(groupings(10), fc.constant([3, 3, 2, 2]), fc.constant([3, 2, 2, 3]));
  const prefixes = fc.constantFrom("8", "+7", "");
  fc.assert(
    fc.property(localPhones, groups, prefixes, LANGUAGES, (local, sizes, prefix, language) => {
      const country = {
        "8": { kazakh: ["сегіз"], russian: ["восемь"] },
        "+7": { kazakh: ["плюс", "жеті"], russian: ["плюс", "семь"] },
        "": { kazakh: [], russian: [] },
      }[prefix][language];
      const number = [...country, ...grouped(local, sizes, language)];
      const words = ["менің", "телефоным", ...number, "жазып", "алыңыз"];
      assert.deepEqual(redact(words, ["phone"]), [{ kind: "phone", first: 2, end: 2 + number.length }]);
    }),
    { numRuns: 1_000 },
  );
});

test("without a cue, ten digits need an area code, and eleven a country code too", () => {
  const area = fc.constantFrom("265", "311", "444", "600");
  fc.assert(
    fc.property(
      area,
      digitsOf(7),
      fc.constantFrom("8", "7", "5", ""),
      LANGUAGES,
      (code, rest, country, language) => {
        const sizes = country === "" ? [3, 3, 2, 2] : [1, 3, 3, 2, 2];
        const words = grouped(country + code + rest, sizes, language);
        assert.deepEqual(redact(["ол", ...words, "дейді"], ["phone"]), []);
      },
    ),
  );
});

test("finds every telephone number of eleven digits in groups of random lengths", () => {
  fc.assert(
    fc.property(localPhones, mixedGroupings(10), LANGUAGES, (local, sizes, language) => {
      const number = grouped(`8${local}`, [1, ...sizes], language);
      const words = ["нөмірім", ...number, "жазып", "алыңыз"];
      assert.deepEqual(redact(words, ["phone"]), [{ kind: "phone", first: 1, end: 1 + number.length }]);
    }),
    { numRuns: 2_000 },
  );
});

test("finds identification numbers and cards in groups of random lengths", () => {
  fc.assert(
    fc.property(
      iins,
      mixedGroupings(12),
      cards,
      mixedGroupings(16),
      LANGUAGES,
      (iin, some, card, others, language) => {
        for (const [kind, digits, sizes] of [
          ["iin", iin, some],
          ["card", card, others],
        ] as const) {
          if (!isPlain(digits, sizes)) continue;
          const words = grouped(digits, sizes, language);
          assert.deepEqual(redact(words, [kind]), [{ kind, first: 0, end: words.length }], digits);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test("finds identification numbers with a valid check digit by their digits alone", () => {
  fc.assert(
    fc.property(
      iins,
      groupings(12),
      LANGUAGES,
      fc.integer({ min: 1, max: 9 }),
      (iin, sizes, language, by) => {
        const words = ["ол", ...grouped(iin, sizes, language), "дейді"];
        assert.deepEqual(redact(words, ["iin"]), [{ kind: "iin", first: 1, end: words.length - 1 }]);
        // Digits spoken one by one have only one reading.
        const wrong = grouped(
          broken(iin, by),
          Array.from({ length: 12 }, () => 1),
          language,
        );
        assert.deepEqual(redact(["ол", ...wrong, "дейді"], ["iin"]), []);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("recognizes written identification numbers only by date, century and check digit", () => {
  fc.assert(
    fc.property(digitsOf(12), (digits) => {
      const [year, month, day, century] = [
        digits.slice(0, 2),
        digits.slice(2, 4),
        digits.slice(4, 6),
        Number(digits[6]),
      ];
      const full = `${century === 0 ? 20 : 17 + Math.ceil(century / 2)}${year}-${month}-${day}`;
      const date = new Date(`${full}T00:00:00Z`);
      const isDate = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(full);
      const isIin = isDate && century <= 6 && iinCheck(digits.slice(0, 11)) === Number(digits[11]);
      assert.equal(redact([digits], ["iin"]).length, isIin ? 1 : 0);
    }),
    { numRuns: 5_000 },
  );
});

test("finds cards with a valid check digit by their digits alone", () => {
  fc.assert(
    fc.property(
      cards,
      groupings(16),
      LANGUAGES,
      fc.integer({ min: 1, max: 9 }),
      (card, sizes, language, by) => {
        const words = ["карта", ...grouped(card, sizes, language), "дейді"];
        assert.deepEqual(redact(words, ["card"]), [{ kind: "card", first: 1, end: words.length - 1 }]);
        assert.deepEqual(redact(["карта", broken(card, by)], ["card"]), []);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("consecutive numbers stay separate", () => {
  fc.assert(
    fc.property(iins, localPhones, LANGUAGES, (iin, local, language) => {
      const [one, other] = [[`${iin}`], grouped(`8${local}`, [1, 3, 3, 2, 2], language)];
      const found = redact([...one, ...other], REDACTED_KINDS);
      assert.deepEqual(found, [
        { kind: "iin", first: 0, end: 1 },
        { kind: "phone", first: 1, end: 1 + other.length },
      ]);
    }),
  );
});

test("ranges of any words are ordered, disjoint and not empty", () => {
  const pool =
    "сегіз жеті жүз бір екі нөл он отыз үш мың плюс восемь семьсот сто двадцать ноль два нуля семёрки собака точка мейл ру ком аман номер карта 8701 4111 1234567 дейді жетіге , +7";
  const words = fc.array(fc.constantFrom(...pool.split(" ")), { maxLength: 60 });
  fc.assert(
    fc.property(words, fc.subarray([...REDACTED_KINDS]), (all, kinds) => {
      let at = 0;
      for (const { kind, first, end } of redact(all, kinds)) {
        assert.ok(kinds.includes(kind) && first >= at && end > first && end <= all.length);
        at = end;
      }
    }),
    { numRuns: 1_000 },
  );
});

test("takes time linear in the number of words", () => {
  const words = (count: number) =>
    Array.from({ length: count }, (_, at) => ["екі", "жүз", "жиырма", "үш"][at % 4]!);
  assert.deepEqual(redact(words(40_000), REDACTED_KINDS), []);
});
