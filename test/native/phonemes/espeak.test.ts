import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type ErrorCode, ServiceError } from "../../../core/domain/errors.js";
import { Espeak } from "../../../native/phonemes/espeak.js";
import { sentencesOfPhonemes } from "../../../native/phonemes/piper-phonemes.js";
import { ESPEAK, NEEDS_ESPEAK } from "../../support/espeak.js";
import { temporaryFolder } from "../../support/folders.js";

const NEVER = new AbortController().signal;

/** Installs a script in place of espeak-ng. */
async function inItsPlace(script: string): Promise<{ program: string; folder: string }> {
  const folder = await temporaryFolder();
  const program = join(folder, "espeak-ng");
  await writeFile(program, `#!/bin/sh\n${script.replaceAll("FOLDER", folder)}\n`);
  await chmod(program, 0o755);
  return { program, folder };
}

async function phonemes(voice: string, text: string): Promise<string[]> {
  const espeak = new Espeak({ voice, program: ESPEAK! });
  try {
    const clauses = await espeak.read(text, NEVER);
    return sentencesOfPhonemes(clauses).map((sentence) => sentence.join(""));
  } finally {
    espeak.close();
  }
}

function failsWith(code: ErrorCode): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.code === code;
}

test("Kazakh and Russian become phonemes with punctuation, sentence by sentence", NEEDS_ESPEAK, async () => {
  assert.deepEqual(await phonemes("kk", "сәлем, әлем! қалайсың?"), ["sælˈem, ælˈem!", "qɑɫˈɑjsəŋ?"]);
  assert.deepEqual(await phonemes("ru", "Привет — мир. Да!"), ["prʲivʲˈet; mʲˈir.", "dˈɑ!"]);
});

test("phonemes are decomposed and language names dropped", NEEDS_ESPEAK, async () => {
  assert.deepEqual(await phonemes("de", "ich"), ["ˈɪc\u0327"]);
  assert.deepEqual(await phonemes("kk", "email жаз."), ["ˈiːmeɪl ʒˈɑz."]);
});

test("hostile text is only read aloud, never as a command, option or file", NEEDS_ESPEAK, async () => {
  const espeak = new Espeak({ voice: "kk", program: ESPEAK! });
  const plain = await espeak.read("сәлем.", NEVER);
  const hostile = [
    ...[
      "-f /etc/passwd",
      "--path=/tmp",
      "$(reboot) `reboot`; reboot",
      "[[ˈɑɑɑ]] <speak><audio src='/etc/passwd'/>",
    ],
    ...["\u0000\u0001V ru \u0001\u001b[2J", "a\nb\r\nc\u2028d", "\ud800 \udfff", "е\u0301".repeat(3_000)],
    ...["😀".repeat(500), "漢字かな", "9".repeat(2_000), "...!!!???", "م ر ح ب ا", "\ue000\uf8ff"],
  ];
  for (const text of hostile) {
    const clauses = await espeak.read(text, NEVER);
    for (const { ipa } of clauses) assert.doesNotMatch(ipa, /root:|\n/, text.slice(0, 40));
    assert.deepEqual(await espeak.read("сәлем.", NEVER), plain, text.slice(0, 40));
  }
  espeak.close();
});

test("no process starts for text without anything to speak", async () => {
  const { program } = await inItsPlace("exit 3");
  assert.deepEqual(await new Espeak({ voice: "kk", program }).read(" … — !", NEVER), []);
});

test("a crashed child is replaced once; then its text fails and the next one succeeds", async () => {
  const { program } = await inItsPlace("mkdir FOLDER/first 2>/dev/null && exit 3\nexec cat");
  const once = new Espeak({ voice: "kk", program });
  assert.deepEqual(await once.read("бір, екі.", NEVER), [
    { text: "бір", sign: ",", ipa: "бір," },
    { text: "екі", sign: ".", ipa: "екі." },
  ]);
  once.close();
  const dying = await inItsPlace("[ -d FOLDER/well ] || exit 3\nexec cat");
  const espeak = new Espeak({ voice: "kk", program: dying.program });
  await assert.rejects(espeak.read("бір.", NEVER), failsWith("WORKER_LOST"));
  await mkdir(join(dying.folder, "well"));
  // The waiting child was started earlier and dies too. The next one speaks.
  assert.equal((await espeak.read("бір.", NEVER)).length, 1);
  espeak.close();
});

test("a child that hangs is killed on timeout or when the piece is cancelled", async () => {
  const { program } = await inItsPlace("exec tail -f /dev/null");
  const espeak = new Espeak({ voice: "kk", program, answerWithinMs: 50 });
  await assert.rejects(espeak.read("бір.", NEVER), failsWith("WORKER_LOST"));
  espeak.close();
  const patient = new Espeak({ voice: "kk", program });
  const leaving = new AbortController();
  const read = patient.read("бір.", leaving.signal);
  leaving.abort();
  await assert.rejects(read, failsWith("CANCELLED"));
  await assert.rejects(patient.read("бір.", leaving.signal), failsWith("CANCELLED"));
  patient.close();
});

test("a child with too much output is killed", async () => {
  const { program } = await inItsPlace("exec yes");
  const espeak = new Espeak({ voice: "kk", program });
  await assert.rejects(espeak.read("бір.", NEVER), failsWith("WORKER_LOST"));
  espeak.close();
});

test("a missing program fails the text, not the process", async () => {
  const espeak = new Espeak({ voice: "kk", program: "/nowhere/espeak-ng" });
  await assert.rejects(espeak.read("бір.", NEVER), failsWith("WORKER_LOST"));
  espeak.close();
});
