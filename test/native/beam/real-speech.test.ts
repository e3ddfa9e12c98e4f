import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { toFloat } from "../../../core/domain/audio/pcm.js";
import { resample } from "../../../core/domain/audio/resample.js";
import { BeamDecoder } from "../../../core/domain/decoding/beam-decoder.js";
import { HotWords } from "../../../core/domain/decoding/hot-words.js";
import { LanguageModel } from "../../../core/domain/decoding/language-model.js";
import { PrefixBeamSearch } from "../../../core/domain/decoding/prefix-beam-search.js";
import { commonWords } from "../../../core/domain/decoding/word-confidence.js";
import { loadBinding } from "../../../native/beam/binding.js";
import { NativeBeamSearch, sharedModel } from "../../../native/beam/native-beam-search.js";
import { CtcTwoPass } from "../../../native/models/ctc-two-pass/ctc-two-pass.js";
import type { CtcTwoPassContents } from "../../../native/models/ctc-two-pass/manifest.js";
import { readPackage } from "../../../native/models/find-packages.js";
import { FlowMatching } from "../../../native/models/flow-matching/flow-matching.js";
import type { FlowMatchingContents } from "../../../native/models/flow-matching/manifest.js";
import { speakAlone } from "../../../native/models/flow-matching/speak-alone.js";
import type { MelSynthesizerManifest, RecognizerManifest } from "../../../native/models/manifest.js";
import { readPackageFile } from "../../../native/models/package.js";
import { joined, noise, RATE_HZ, silence, speech, tone } from "../../support/audio.js";
import { RECOGNIZER_FOLDER, SYNTHESIZER_FOLDER } from "../../support/folders.js";

interface Heard {
  readonly logProbs: Float32Array;
  readonly frames: number;
}

/** Rare names that the recogniser gets wrong without hot words. */
const NAMES = [
  { sentence: "бүгін кездесуге зүбайраш келеді", name: "зүбайраш", voice: "aigul" },
  { sentence: "хатты тұрсынбибіге тапсырды", name: "тұрсынбибі", voice: "dauren" },
  { sentence: "жиналысты әбдісаламат бастады", name: "әбдісаламат", voice: "aigul" },
] as const;
/** Recordings of people whose voices the recogniser was not trained with. */
const RECORDINGS = ["kazakh-speech-commands/example_1.flac", "pisets-ru-test/test_sound_ru.flac"];

const { binding } = loadBinding();
let model: CtcTwoPass;
let synthesizer: FlowMatching;
/** Without the addon, only the reference is tested. */
let decoders: readonly BeamDecoder[];

before(async () => {
  const recognizer = await readPackage<RecognizerManifest, CtcTwoPassContents>(
    RECOGNIZER_FOLDER,
    "transcription",
  );
  model = await CtcTwoPass.load(recognizer, { intraOpThreads: 1 });
  const { vocabulary, manifest } = model;
  const file = gunzipSync(await readPackageFile(recognizer, "languageModel"));
  const languageModel = LanguageModel.parse(file);
  const reference = new PrefixBeamSearch(vocabulary, languageModel, manifest.decoding);
  const searches =
    binding === null
      ? [reference]
      : [
          reference,
          new NativeBeamSearch(
            binding,
            vocabulary,
            await sharedModel(binding, "real-speech-test", vocabulary, async () => file),
            manifest.decoding,
          ),
        ];
  const { outputBias } = model;
  decoders = searches.map((search) => new BeamDecoder(vocabulary, search, { outputBias }));
  const voices = await readPackage<MelSynthesizerManifest, FlowMatchingContents>(
    SYNTHESIZER_FOLDER,
    "synthesis",
  );
  synthesizer = await FlowMatching.load(voices, { intraOpThreads: 1 });
});

after(async () => {
  await model.release();
  await synthesizer.release();
});

test("on speech the native search equals the reference, with and without hot words", async () => {
  const files = readdirSync("test/fixtures/speech/asterisk-ru-core").filter((file) => file.endsWith(".flac"));
  const chosen = files.filter((_, i) => i % 12 === 0).map((file) => `asterisk-ru-core/${file}`);
  const hotWords = compiled(["конференция", "номер канала", "пароль", "решетку"], 1.5);
  let wordCount = 0;
  for (const file of [...RECORDINGS, ...chosen]) {
    const heard = await hear(speech(file));
    for (const hot of [null, hotWords]) {
      const [expected, ...others] = decoders.map((decoder) => decode(decoder, heard, hot));
      for (const other of others) assert.deepEqual(other, expected, file);
      wordCount += expected!.words.length;
    }
  }
  assert.ok(wordCount > 100, `${wordCount} words`);
});

for (const { sentence, name, voice } of NAMES) {
  test(`the name "${name}" is transcribed correctly as a hot word`, async () => {
    const heard = await hear(await spoken(sentence, voice));
    for (const decoder of decoders) {
      assert.ok(!decode(decoder, heard, null).text.includes(name), "it takes a hot word");
      assert.equal(decode(decoder, heard, compiled([name], 1)).text, sentence);
    }
  });
}

test("hot words correct a recording of a person", async () => {
  const heard = await hear(speech("asterisk-ru-core/conf-lockednow.flac"));
  const hotWords = compiled(["конференция", "закрыта"], 1);
  for (const decoder of decoders) {
    assert.notEqual(decode(decoder, heard, null).text, "эта конференция теперь закрыта");
    assert.equal(decode(decoder, heard, hotWords).text, "эта конференция теперь закрыта");
  }
});

test("hot words that are not spoken are not found and hardly change unclear speech", async () => {
  const hotWords = compiled(
    NAMES.map(({ name }) => name),
    1,
  );
  const folder = "asterisk-ru-core";
  const files = readdirSync(`test/fixtures/speech/${folder}`).filter((file) => file.endsWith(".flac"));
  const longest = files
    .map((file) => ({
      file: `${folder}/${file}`,
      bytes: statSync(`test/fixtures/speech/${folder}/${file}`).size,
    }))
    .sort((a, b) => b.bytes - a.bytes || a.file.localeCompare(b.file))
    .slice(0, 8);
  let wordCount = 0;
  let changed = 0;
  // The native search, if available, takes a tenth of the reference's time and gives the same results.
  const decoder = decoders.at(-1)!;
  for (const file of [...longest.map(({ file }) => file), ...RECORDINGS]) {
    const heard = await hear(speech(file));
    const without = words(decode(decoder, heard, null));
    const withNames = words(decode(decoder, heard, hotWords));
    for (const { name } of NAMES) assert.ok(!withNames.some((word) => word.includes(name)), name);
    const kept = commonWords(without, withNames).length;
    wordCount += without.length;
    changed += without.length - kept;
  }
  // The beginnings of a name displace other texts from the beam for a while: 22 of 409 words, all in unclear
  // speech.
  assert.ok(wordCount > 250, `${wordCount} words`);
  assert.ok(changed <= wordCount / 15, `${changed} of ${wordCount} words are others`);
});

test("a hundred hot words with the highest score add no word to silence, tones or noise", async () => {
  const letters = model.vocabulary.slice(3, 45);
  const many = Array.from({ length: 70 }, (_, i) => letters[i % 42]! + letters[(i * 7) % 42]!);
  const hotWords = compiled([...many, ...letters.slice(0, 30)], 5);
  const hum = tone(2, [50, 100, 440]);
  for (const pcm of [
    silence(3),
    noise(3, 0.0005),
    noise(3, 0.02),
    hum,
    joined(silence(1), hum, silence(1)),
  ]) {
    const heard = await hear(pcm);
    for (const decoder of decoders) {
      const without = decode(decoder, heard, null).text;
      assert.equal(decode(decoder, heard, hotWords).text, without);
    }
  }
});

test("correct words have higher confidence than wrong ones", async () => {
  const heard = await hear(await spoken("жиналысты әбдісаламат бастады", "aigul"));
  const confident = decode(decoders[0]!, heard, null).words;
  const right = confident.filter(({ word }) => word === "жиналысты" || word === "бастады");
  const wrong = confident.filter(({ word }) => word !== "жиналысты" && word !== "бастады");
  assert.equal(right.length, 2);
  assert.ok(wrong.length > 0);
  const surest = Math.max(...wrong.map(({ confidence }) => confidence));
  for (const { word, confidence } of right) assert.ok(confidence > surest, `${word} ${confidence} ${surest}`);
  for (const { confidence } of confident) assert.ok(confidence >= 0 && confidence <= 1);
});

function decode(decoder: BeamDecoder, { logProbs, frames }: Heard, hotWords: HotWords | null) {
  return decoder.decode(logProbs, frames, { hotWords });
}

function words({ words: timed }: ReturnType<typeof decode>): readonly string[] {
  return timed.map(({ word }) => word);
}

function compiled(texts: readonly string[], characterScore: number): HotWords | null {
  return HotWords.compile(
    texts.map((text) => ({ text, characterScore })),
    model.vocabulary,
  );
}

function hear(pcm: Int16Array): Promise<Heard> {
  return model.decodeUtterance(toFloat(pcm));
}

/** Speech from our own synthesizer, which is deterministic. */
async function spoken(spokenText: string, voice: string): Promise<Int16Array> {
  const modelId = synthesizer.manifest.id;
  const pcm = await speakAlone(synthesizer, { modelId, voice, spokenText, speed: 1, nfe: 8, seed: 1 });
  const heard = resample(pcm, { fromHz: synthesizer.manifest.sampleRateHz, toHz: RATE_HZ });
  return joined(
    silence(0.2),
    Int16Array.from(heard, (sample) => Math.round(sample * 32_767)),
    silence(0.2),
  );
}
