import assert from "node:assert/strict";
import { test } from "node:test";
import { planSynthesis } from "../../../actors/synthesis/plan.js";
import type { SpeakingModel } from "../../../core/domain/catalog/catalog.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { PLAIN_MANNER } from "../../../core/domain/synthesis/voice-manner.js";
import { countCodePoints } from "../../../core/domain/text/code-points.js";
import { parseSynthesisRequest } from "../../../core/protocol/synthesis-request.js";

const MODEL: SpeakingModel = {
  name: "svc-kk-v1",
  task: "synthesis",
  lang: "kk",
  sample_rate: 24_000,
  voices: [{ name: "aigul", gender: null, style: null, best_for: null, manner: PLAIN_MANNER }],
  default_voice: "aigul",
  notes: null,
  created: null,
  word_times: true,
  solver_steps: true,
};
const planOf = (text: string, normalize = true) =>
  planSynthesis(parseSynthesisRequest({ text, normalize }), MODEL);

test("unspeakable characters are counted over all sentences and billed", async () => {
  const text = "Сәлем 😀! Бағасы 5 ₸. 漢字";
  const plan = await planOf(text);
  assert.equal(plan.droppedCharacters, 3);
  assert.equal(plan.billedCharacters, countCodePoints(text));
  assert.deepEqual(
    plan.sentences.map(({ pieces }) => pieces.map(({ text }) => text)),
    [["сәлем!"], ["бағасы бес теңге."]],
  );
  assert.equal((await planOf("Бағасы 5 ₸", false)).droppedCharacters, 2);
  assert.equal((await planOf("Сәлем!")).droppedCharacters, 0);
});

test("a pause mark replaces the pause between sentences, minus the silence at the edges of pieces", async () => {
  const pauses = async (text: string) =>
    (await planOf(text)).sentences.map(({ leadSamples = 0, pauseSamples }) =>
      [leadSamples, pauseSamples].map((n) => n / 24),
    );
  assert.deepEqual(await pauses("Бір. Екі.\nҮш."), [
    [0, 250],
    [0, 500],
    [0, 0],
  ]);
  // This is 48 ms at the end of a piece, and 30 ms at the start of the next one.
  assert.deepEqual(await pauses("Бір. [pause 1s] Екі.\n[pause 300ms]\nҮш."), [
    [0, 922],
    [0, 222],
    [0, 0],
  ]);
  assert.deepEqual(await pauses("[pause 1s][pause 500ms] Бір. [pause 2s] 😀! [pause 1s]"), [[1_470, 2_952]]);
  assert.deepEqual(await pauses("Бір [pause 0ms] екі"), [
    [0, 0],
    [0, 0],
  ]);
});

test("speech continues after a pause mark inside a sentence, which is billed", async () => {
  const text = "Қайырлы таң [pause 500ms] достар [pause 1s]";
  const plan = await planOf(text);
  assert.deepEqual(
    plan.sentences.map(({ pieces }) => pieces.map((piece) => piece.text)),
    [["қайырлы таң,"], ["достар."]],
  );
  assert.deepEqual(
    plan.sentences.flatMap(({ pieces }) =>
      pieces.flatMap(({ words }) => words.map((w) => text.slice(w.start, w.end))),
    ),
    ["Қайырлы", "таң", "достар"],
  );
  assert.equal(plan.billedCharacters, countCodePoints(text));
  assert.deepEqual(
    plan.sentences.map(({ charactersThrough }) => charactersThrough),
    [25, text.length],
  );
  assert.equal(plan.droppedCharacters, 0);
  await assert.rejects(planOf("[pause 1s]"), /something that can be spoken/);
});

/** Returns the number of spoken characters in the plan of a text. */
async function spokenLength(text: string): Promise<number> {
  const { sentences } = await planOf(text);
  return sentences.flatMap(({ pieces }) => pieces).reduce((sum, piece) => sum + piece.text.length, 0);
}

const LONGEST = 5_000;
const filled = (part: string) => part.repeat(Math.ceil(LONGEST / part.length)).slice(0, LONGEST);

test("the longest realistic texts of numbers are spoken", async () => {
  const figures: Readonly<Record<string, string>> = {
    "personal numbers": "910412300547\n",
    "only digits": "9876543210",
    prices: "Нан — 1 299,50 ₸\n",
    "telephone numbers": "Асқар: +7 701 299 87 65\n",
    dates: "27.12.2024\n",
    percents: "97,8%\n",
    table: "98 765\t4 398\t77,9\n",
    acronyms: "ҚР БҒМ 2024 ж. ",
  };
  for (const [name, part] of Object.entries(figures)) {
    assert.ok((await spokenLength(filled(part))) > LONGEST, name);
  }
});

test("a text that is too long when spoken is rejected with both lengths", async () => {
  for (const part of ["@ % ", "≥ ", "±@", "≤≥", "∞°", "℃ "]) {
    const spoken = await spokenLength(filled(part).slice(0, 500)).then((length) => length * 10);
    if (spoken < 41_000) continue;
    await assert.rejects(planOf(filled(part)), (error) => {
      assert.ok(error instanceof ServiceError && error.code === "TEXT_TOO_LONG");
      assert.match(
        error.message,
        /^text must be at most 40000 characters when figures and signs are spoken as words, received \d{5}$/,
      );
      return true;
    });
  }
  await assert.rejects(planOf(filled("≤≥")), /received 8\d{4}$/);
});

test("an answer longer than an hour is rejected, including slow speech and pauses", async () => {
  const slowly = (text: string, speed: number) =>
    planSynthesis(parseSynthesisRequest({ text, speed }), MODEL);
  const figures = filled("9876543210");
  assert.ok((await slowly(figures, 1)).sentences.length > 0);
  await assert.rejects(slowly(figures, 0.5), (error) => {
    assert.ok(error instanceof ServiceError && error.code === "TEXT_TOO_LONG");
    assert.match(
      error.message,
      /^text must be at most 3600 s of speech, received about \d{4} s at speed 0.5$/,
    );
    return true;
  });
  assert.ok((await slowly(filled("Бүгін күн жылы, ертең жаңбыр жауады. "), 0.5)).sentences.length > 0);
  // Normal paragraphs of 40 minutes, plus short ones of half an hour.
  const paragraphs = filled("а\n\n");
  assert.ok((await slowly(paragraphs, 1)).sentences.length > 0);
  const pauses = "[pause 10s]".repeat(12);
  assert.ok((await slowly(`Сәлем ${pauses}`, 1)).sentences.length > 0);
});

test("a run of one sign counts as an ornament, not as many words", async () => {
  const said = async (text: string) =>
    (await planOf(text)).sentences.flatMap(({ pieces }) => pieces.map((piece) => piece.text));
  for (const sign of "@%=+≥±№~≈°₸$&") {
    assert.deepEqual(await said(`Сәлем ${sign.repeat(40)} әлем`), ["сәлем әлем."], sign);
    await assert.rejects(planOf(sign.repeat(LONGEST)), /something that can be spoken/, sign);
  }
  assert.deepEqual(await said("5 % және 6 @"), ["бес пайыз және алты ат белгісі."]);
  assert.deepEqual(await said("C++ тілі"), await said("C + + тілі"));
  assert.deepEqual(await said("Баға ++++100, бағасы 100@@@@-ға"), [
    "баға плюс жүз, бағасы жүз ат белгісіге.",
  ]);
});

test("planning the longest text takes many turns of the event loop", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await planOf(filled("Бүгін күн жылы, ертең жаңбыр жауады. "));
  isOver = true;
  assert.ok(turns >= 8, `${turns} turns`);
});

test("a voice of another language gets the text as written, at the usual price", async () => {
  const text = "Цена 15%. Итого 2 500 ₽\u0000!";
  const other = { ...MODEL, lang: "uk" };
  const { sentences, billedCharacters, droppedCharacters } = await planSynthesis(
    parseSynthesisRequest({ text }),
    other,
  );
  assert.deepEqual(
    sentences.map(({ pieces }) => pieces.map((piece) => piece.text)),
    [["Цена 15%."], ["Итого 2 500 ₽!"]],
  );
  assert.deepEqual([billedCharacters, droppedCharacters], [countCodePoints(text), 1]);
  await assert.rejects(planSynthesis(parseSynthesisRequest({ text: "…!" }), other), /that can be spoken$/);
});

test("numbers become Russian words for a Russian voice, Kazakh words for a bilingual one", async () => {
  const piecesOf = async (lang: string, normalize = true) => {
    const request = parseSynthesisRequest({ text: "Цена 15%. Итого 2 500 ₽!", normalize });
    const { sentences } = await planSynthesis(request, { ...MODEL, lang });
    return sentences.flatMap(({ pieces }) => pieces.map((piece) => piece.text));
  };
  assert.deepEqual(await piecesOf("ru"), ["Цена пятнадцать процентов.", "Итого две тысячи пятьсот рублей!"]);
  assert.deepEqual(await piecesOf("ru", false), ["Цена 15%.", "Итого 2 500 ₽!"]);
  assert.match((await piecesOf("kk-ru")).join(" "), /он бес пайыз/);
});

const CALM = { pace: 0.9, breath: 1.2, melody: 0.8, roomToneHz: 500 };
const CALM_MODEL: SpeakingModel = {
  ...MODEL,
  voices: [...MODEL.voices, { ...MODEL.voices[0]!, name: "saule", manner: CALM }],
};
const calmPlan = (request: object) =>
  planSynthesis(parseSynthesisRequest({ voice: "saule", ...request }), CALM_MODEL);

test("a voice has its own pace and pauses, except for pauses requested in the text", async () => {
  const plan = await calmPlan({ text: "Бір. Екі.\nҮш. [pause 1s] Төрт.", speed: 1.5 });
  assert.deepEqual(plan.voicing, {
    modelId: "svc-kk-v1",
    voice: "saule",
    speed: 1.5 * 0.9,
    breath: 1.2,
    melody: 0.8,
    nfe: 32,
    seed: plan.voicing.seed,
  });
  assert.equal(plan.speed, 1.5);
  assert.deepEqual(
    plan.sentences.map(({ pauseSamples }) => pauseSamples / 24),
    [300, 600, 922, 0],
  );
});

test("a voice's pace stays within the range of requests", async () => {
  const speeds = [0.5, 0.52, 2].map((speed) => calmPlan({ text: "Сәлем!", speed }));
  assert.deepEqual(
    (await Promise.all(speeds)).map(({ voicing }) => voicing.speed),
    [0.5, 0.5, 1.8],
  );
});

test("the text limit depends on the voice's pace", async () => {
  const text = filled("987654321012 ");
  const slow = { ...MODEL, voices: [{ ...MODEL.voices[0]!, manner: { ...CALM, pace: 0.7 } }] };
  assert.ok(await planSynthesis(parseSynthesisRequest({ text }), MODEL));
  assert.ok(await calmPlan({ text }), "a tenth slower is not too slow for pages of figures");
  await assert.rejects(
    planSynthesis(parseSynthesisRequest({ text }), slow),
    /at most 3600 s of speech, received about \d+ s at speed 1$/,
  );
});

test("an answer has room tone unless it is disabled, at a position from the seed", async () => {
  const { roomTone } = await calmPlan({ text: "Сәлем!", seed: 12 });
  assert.deepEqual(roomTone, { cutoffHz: 500, seed: 12 });
  assert.equal((await calmPlan({ text: "Сәлем!", room_tone: false })).roomTone, null);
});

test("a clause whose sentence continues keeps its punctuation, and ends with the matching pause", async () => {
  const request = parseSynthesisRequest({ text: "Бүгін күн ашық, " });
  const partOf = async (isClause: boolean) => {
    const { sentences } = await planSynthesis(request, MODEL, { continues: true, isClause });
    return sentences.map(({ pieces, pauseSamples }) => [pieces.at(-1)!.text, pauseSamples / 24]);
  };
  assert.deepEqual(await partOf(true), [["бүгін күн ашық,", 90]]);
  assert.deepEqual(await partOf(false), [["бүгін күн ашық.", 250]]);
});
