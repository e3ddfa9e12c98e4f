import { type Reader, spokenSentences } from "./spoken-sentences.js";

/** Sample text that uses all rules. */
const KAZAKH =
  "Сәлеметсіз бе! 2024 жылғы 12 мамырда, сағат 9:30-да, Абай көш., 5-үйде «Kaspi» банкі 1 234,56 ₸-ге 15% арзандады. " +
  "ХХ ғасырда А. Байтұрсынұлы, т.б. ақындар — бәрі де. Тел.: +7 701 123 45 67, www.example.test, a@b.test, 12.05.2024, 3/4, " +
  "5 км/сағ, -5 °C, $3.5 млн, ҚР, 10-15 км², №3, 2-ші, XVII ғ. проф. Ахметов, 2-3 күн, Wi-Fi, #қазақ.";

const RUSSIAN =
  "В 2024 г. 15 марта, с 9:30 до 18.00, на ул. Абая, д. 5 продали 1 234,56 ₽ по $3,5 млн, т.е. 12,5 % от 5–10 тыс. руб. " +
  "Тел. +7 701 123-45-67, 12.05.2024, 3/4, -5 °C, № 3, 5-й класс, 35-летний, XX век, Пётр I, 20 км², 2-х.";

const TEXTS: Readonly<Partial<Record<Reader, string>>> = { kazakh: KAZAKH, russian: RUSSIAN };

/**
 * Reads a text so that the rules' patterns are compiled before the first request: a long text would otherwise
 * block the event loop for 0.1 s. Reads it twice, because a pattern becomes machine code on its second use.
 *
 * @param readers the readers that the voices need
 */
export function warmUpReading(readers: ReadonlySet<Reader>): void {
  for (const reader of readers) {
    const text = TEXTS[reader];
    for (let times = 0; text !== undefined && times < 2; times++)
      spokenSentences(text, { expand: true, reader });
  }
}
