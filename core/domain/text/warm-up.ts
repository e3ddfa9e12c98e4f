import { spokenSentences } from "./spoken-sentences.js";

/** Something for every rule. */
const MIXED =
  "Сәлеметсіз бе! 2024 жылғы 12 мамырда, сағат 9:30-да, Абай көш., 5-үйде «Kaspi» банкі 1 234,56 ₸-ге 15% арзандады. " +
  "ХХ ғасырда А. Байтұрсынұлы, т.б. ақындар — бәрі де. Тел.: +7 701 123 45 67, www.example.test, a@b.test, 12.05.2024, 3/4, " +
  "5 км/сағ, -5 °C, $3.5 млн, ҚР, 10-15 км², №3, 2-ші, XVII ғ. проф. Ахметов, 2-3 күн, Wi-Fi, #қазақ.";

/**
 * Reads a text, so that the rules' patterns are compiled before the first request, where that blocked the
 * event loop for 0.1 s. Twice, because a pattern becomes machine code at its second use.
 */
export function warmUpReading(): void {
  for (let times = 0; times < 2; times++) spokenSentences(MIXED, { expand: true });
}
