import assert from "node:assert/strict";
import { test } from "node:test";
import { normalizeKazakh } from "../../../src/domain/text/kazakh/normalize.js";

const spoken = (text: string) => normalizeKazakh(text, { expand: true }).spoken;
const plain = (text: string) => normalizeKazakh(text, { expand: false });

/** One test for each concern; each row is what is written and what is said. */
const CONCERNS: Readonly<Record<string, readonly (readonly [written: string, said: string])[]>> = {
  "years are ordinals, counts of years are not": [
    ["2024 жылы", "екі мың жиырма төртінші жылы"],
    ["1941–1945 жылдары", "мың тоғыз жүз қырық бірінші — мың тоғыз жүз қырық бесінші жылдары"],
    ["2019-2020 оқу жылы", "екі мың он тоғызыншы — екі мың жиырмасыншы оқу жылы"],
    ["2000 жыл бұрын", "екі мың жыл бұрын"],
    ["30 жылдың ішінде", "отыз жылдың ішінде"],
    ["90-жылдары", "тоқсаныншы жылдары"],
    ["1991 ж. туған.", "мың тоғыз жүз тоқсан бірінші жылы туған."],
  ],
  "dates and times": [
    ["05.05.2024", "екі мың жиырма төртінші жылғы бесінші мамыр"],
    ["05.05.2024-де", "екі мың жиырма төртінші жылғы бесінші мамырда"],
    ["2024-05-05", "екі мың жиырма төртінші жылғы бесінші мамыр"],
    ["8 наурызда", "сегізінші наурызда"],
    ["45.45.2024", "қырық бес нүкте қырық бес нүкте екі мың жиырма төрт"],
    ["14:30-да", "он төрт отызда"],
    ["9:00-ден 18:00-ге дейін", "тоғыздан он сегізге дейін"],
  ],
  "endings belong to the spoken word": [
    ["2024-тен", "екі мың жиырма төрттен"],
    ["15%-ға", "он бес пайызға"],
    ["15 %-дан", "он бес пайыздан"],
    ["500 ₸-ге", "бес жүз теңгеге"],
    ["200-ге тарта", "екі жүзге тарта"],
    ["1-іншіден", "біріншіден"],
    ["20-сыншы", "жиырмасыншы"],
    ["5ші", "бесінші"],
    ["2-сінде", "екісінде"],
    ["3-еуі", "үшеуі"],
    ["1000-даған", "мыңдаған"],
    ["5-сынып", "бесінші сынып"],
    ["10-жылдық", "он жылдық"],
    ["100 км-ге", "жүз километрге"],
    ["АҚШ-қа", "америка құрама штаттарына"],
    ["ҚР-ның", "қазақстан республикасының"],
    ["ХХ-да", "жиырмасыншыда"],
    ["ІІ-ші", "екінші"],
  ],
  "money and measures": [
    ["$5", "бес доллар"],
    ["$3,5 млн", "үш бүтін оннан бес миллион доллар"],
    ["25,24 ₸", "жиырма бес теңге жиырма төрт тиын"],
    ["5 000 тг.", "бес мың теңге."],
    ["5 мин. кейін", "бес минут кейін"],
    ["60 км/сағ", "сағатына алпыс километр"],
    ["1½ сағат", "бір жарым сағат"],
    ["3,14159265", "үш үтір бір төрт бір бес тоғыз екі алты бес"],
    ["-5 °C, 10-15 адам", "минус бес цельсий градусы, он-он бес адам"],
  ],
  "numbers that are codes": [
    ["007", "нөл нөл жеті"],
    ["+7 701 123 45 07", "плюс жеті жеті жүз бір жүз жиырма үш қырық бес нөл жеті"],
    ["2.0.1", "екі нүкте нөл нүкте бір"],
    ["№5 мектеп", "бесінші мектеп"],
    ["№ 123456 бұйрық", "нөмірі жүз жиырма үш мың төрт жүз елу алты бұйрық"],
  ],
  "Roman numerals are ordinals, words in the same letters are not": [
    ["ХХІ ғасыр", "жиырма бірінші ғасыр"],
    ["ІІ Петр, Петр I.", "екінші петр, петр бірінші."],
    ["XIX–XX ғғ.", "он тоғызыншы — жиырмасыншы ғасырлар."],
    ["XL өлшемі", "экс эл өлшемі"],
  ],
  abbreviations: [
    ["Алма, өрік, т.б. Содан кейін", "алма, өрік, тағы басқа. содан кейін"],
    ["проф. Ахметов", "профессор ахметов"],
    ["А. Байтұрсынұлы", "а байтұрсынұлы"],
    ["Қ.К. Тоқаев", "қы кы тоқаев"],
    ["Алматы қ. Абай көш. 5", "алматы қаласы абай көшесі бес"],
    ["ҚМДБ-ға", "қы мы ды быға"],
  ],
  "Latin words by sound": [
    ["Google-дың", "гуглдың"],
    ["USB, GPS, BBC", "ю эс би, джи пи эс, би би си"],
    ["Qazaqstan", "қазақстан"],
    ["Álem", "әлем"],
    ["COVID-19", "ковид он тоғыз"],
    ["Wi-Fi", "вай фай"],
    ["café, Skype", "кафе, скип"],
  ],
  "letters typed on another keyboard are repaired": [
    ["Aлмaты", "алматы"],
    ["cəлем", "сәлем"],
    ["ѓалым", "ғалым"],
    ["Yлкен", "үлкен"],
    ["й", "й"],
  ],
  "quotes are silent, brackets and dashes are pauses": [
    ["«Сәлем», — деді ол (ақырын).", "сәлем, деді ол, ақырын."],
    ["Алматы — Астана", "алматы — астана"],
    ["ата-ана", "ата-ана"],
    ["Бірінші\nЕкінші", "бірінші. екінші"],
    ["жол\nсоңы", "жол соңы"],
    ["Рас па?!", "рас па?"],
    ["Мен... білмеймін…", "мен, білмеймін."],
  ],
};

for (const [concern, rows] of Object.entries(CONCERNS)) {
  test(concern, () => {
    for (const [written, said] of rows) assert.equal(spoken(written), said, written);
  });
}

test("what nobody can say is dropped and counted", () => {
  assert.deepEqual(normalizeKazakh("Сәлем 😀漢!\u0007", { expand: true }), {
    spoken: "сәлем!",
    droppedCharacters: 3,
  });
  assert.deepEqual(normalizeKazakh("😀 !!! 12", { expand: false }), { spoken: "", droppedCharacters: 3 });
  assert.deepEqual(normalizeKazakh("", { expand: true }), { spoken: "", droppedCharacters: 0 });
  assert.deepEqual(normalizeKazakh("?!.", { expand: true }), { spoken: "", droppedCharacters: 0 });
});

test("an invisible character does not part a word, a picture does", () => {
  assert.equal(spoken("сә\u200bлем"), "сәлем");
  assert.equal(spoken("сәлем😀әлем"), "сәлем әлем");
});

test("without expansion numbers and signs are dropped, Latin words still sound", () => {
  assert.deepEqual(plain("АҚШ 2024 жылы, 15% Google"), { spoken: "ақш жылы, гугл", droppedCharacters: 7 });
});
