import assert from "node:assert/strict";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { test } from "node:test";
import { scoreText, scoringText } from "../../bench/evaluate/scoring-text.js";
import { parseTable, readTranscripts } from "../../bench/evaluate/transcripts.js";
import { bootstrapRate } from "../../core/domain/statistics/bootstrap.js";
import { temporaryFolder } from "../support/folders.js";
import { runProgram } from "../support/run-program.js";

const SPEECH = "test/fixtures/speech/";
const RECORDINGS = ["asterisk-ru-core/agent-user.flac", "asterisk-ru-core/agent-loggedoff.flac"];
const TAKES_E = { keepsYo: false };

test("a table has named columns, or a path and a sentence", () => {
  const row = (language: string) => ({ path: "a.mp3", sentence: "Сәлем.", language });
  const commonVoice = "client_id\tpath\tsentence\tup_votes\tlocale\nx\ta.mp3\tСәлем.\t2\tkk\n";
  assert.deepEqual(parseTable(commonVoice, "t"), [row("kk")]);
  assert.deepEqual(parseTable("\uFEFFpath\tsentence\r\na.mp3\tСәлем.\r\n", "t"), [row("")]);
  assert.deepEqual(parseTable("a.mp3\tСәлем.", "t"), [row("")]);
  assert.throws(() => parseTable("a.mp3\tСәлем.\nb.mp3", "my.tsv"), /my\.tsv, line 2: must have a path/);
});

test("recordings are next to the table or in clips, and sets are named by folder and locale", async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "cv/clips"), { recursive: true });
  await mkdir(join(folder, "own/aigul"), { recursive: true });
  for (const path of ["cv/clips/1.mp3", "own/aigul/2.wav", "own/3.wav"])
    await writeFile(join(folder, path), "");
  const head = "path\tsentence\tlocale\n";
  await writeFile(join(folder, "cv/test.tsv"), `${head}1.mp3\tбір\tkk\n9.mp3\tтоғыз\tkk\n`);
  await writeFile(join(folder, "cv/validated.tsv"), `${head}1\tодин\tru\n`);
  await writeFile(join(folder, "own/list.tsv"), "aigul/2.wav\tекі\n3.wav\tүш\n");
  const { items, missing } = await readTranscripts(folder, null);
  assert.deepEqual(
    items.map(({ set, reference, language }) => [set, reference, language]),
    [
      ["cv/kk", "бір", "kk"],
      ["own/aigul", "екі", ""],
      ["own", "үш", ""],
    ],
  );
  assert.deepEqual(missing, ["9.mp3"]);
  const validated = await readTranscripts(folder, "validated");
  assert.deepEqual(
    validated.items.map(({ set }) => set),
    ["cv/ru"],
  );
  await writeFile(join(folder, "own/more.tsv"), "3.wav\tүш\n");
  await assert.rejects(
    readTranscripts(folder, null),
    /several tables \(list\.tsv, more\.tsv\): choose one with/,
  );
  await assert.rejects(readTranscripts(join(folder, "cv/clips"), null), /has no table/);
});

test("numbers become words in Kazakh but stay digits in Russian", () => {
  assert.equal(scoringText("Бағасы 15% өсті!", "kk", TAKES_E), "бағасы он бес пайыз өсті");
  assert.equal(scoringText("Үйде 3 бала бар", "", TAKES_E), "үйде үш бала бар");
  assert.equal(scoringText("Ещё 15 минут", "ru", TAKES_E), "еще 15 минут");
  assert.equal(scoringText("Ещё 15 минут", "ru", { keepsYo: true }), "ещё 15 минут");
  const kazakh = scoreText({ reference: "Үйде 3 бала", hypothesis: "үйде 3 бала", language: "" }, TAKES_E);
  assert.deepEqual(
    { ...kazakh, characters: 0 },
    { characterEdits: 0, characters: 0, wordEdits: 0, words: 3, hasDigits: false },
  );
  const russian = scoreText({ reference: "в 5 часов", hypothesis: "в пять часов", language: "ru" }, TAKES_E);
  assert.deepEqual([russian.wordEdits, russian.words, russian.hasDigits], [1, 3, true]);
});

test("a rate has a bootstrap interval over recordings", () => {
  const one = bootstrapRate([1, 1, 1, 1], [4, 4, 4, 4]);
  assert.deepEqual(one, { value: 0.25, low: 0.25, high: 0.25 });
  const mixed = bootstrapRate([4, 0, 0, 0], [4, 4, 4, 4]);
  assert.equal(mixed.value, 0.25);
  assert.ok(mixed.low < 0.25 && mixed.high > 0.25);
});

test("two recognisers are scored on a folder of recordings; a second run uses the cache", async () => {
  const folder = await temporaryFolder();
  const cache = join(folder, "cache");
  const set = join(folder, "set");
  await mkdir(join(set, "clips"), { recursive: true });
  for (const [i, path] of RECORDINGS.entries())
    await copyFile(SPEECH + path, join(set, "clips", `${i}.flac`));
  await writeFile(join(set, "clips/broken.flac"), "no sound");
  const rows = [
    "0.flac\tВведите номер\tru",
    "1.flac\tУдалена\tru",
    "broken.flac\tНичего\tru",
    "gone.flac\tНет\tru",
  ];
  await writeFile(join(set, "test.tsv"), `path\tsentence\tlocale\n${rows.join("\n")}\n`);
  const evaluate = () =>
    runProgram(
      "dist/bench/evaluate/main.js",
      [
        ...[
          "people",
          relative(process.cwd(), set),
          "--model",
          "tiny-gigaam-ctc",
          "--compare",
          "tiny-nemo-ctc",
        ],
        ...["--out", join(folder, "out.json"), "--cache", cache],
      ],
      { env: { MODELS_DIR: "test/fixtures/adapters" } },
    );
  const first = await evaluate();
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /### tiny-gigaam-ctc .*\n\n\| set \| n \| minutes \|/);
  assert.match(first.stdout, /\| ru \| 2 \| 0\.\d \|/);
  assert.match(
    first.stdout,
    /1 could not be transcribed, the first: .*broken\.flac: Cannot decode.*1 are missing/,
  );
  assert.match(first.stdout, /WER of tiny-gigaam-ctc over tiny-nemo-ctc, points/);
  const report = JSON.parse(await readFile(join(folder, "out.json"), "utf8"));
  assert.deepEqual(
    report.reports.map(({ modelId }: { modelId: string }) => modelId),
    ["tiny-gigaam-ctc", "tiny-nemo-ctc"],
  );
  assert.equal(report.comparison[0].recordings, 2);
  const lines = async () => {
    const files = (await readdir(cache)).sort();
    return Promise.all(files.map((file) => readFile(join(cache, file), "utf8")));
  };
  const heard = await lines();
  assert.equal(heard.length, 2);
  const second = await evaluate();
  assert.equal(second.stdout, first.stdout);
  assert.deepEqual(await lines(), heard);
});

test("a folder without recordings and a missing recogniser are reported in one line", async () => {
  const run = (...args: string[]) =>
    runProgram("dist/bench/evaluate/main.js", ["people", ...args], {
      env: { MODELS_DIR: "test/fixtures/adapters" },
    });
  const empty = await run(await temporaryFolder(), "--model", "tiny-gigaam-ctc");
  assert.deepEqual([empty.code, empty.stdout], [1, ""]);
  assert.match(empty.stderr, /^Cannot evaluate: \S+ has no table \(\.tsv\), nor does a folder below it\n$/);
  const unknown = await run(SPEECH, "--model", "nobody");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^Cannot evaluate: no recogniser nobody in .*, found: tiny-gigaam-ctc, /);
});
