import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { speechAsWav } from "../support/audio.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type SharedService, sharedService } from "../support/shared-service.js";
import { dauys } from "./support.js";

const SPOKEN = "asterisk-ru-core/conf-getconfno.flac";
const SRT = /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n[А-Я][А-Яа-я ,\n]+[.?]\n/;

let service: SharedService;
let folder: string;
let env: Record<string, string>;

before(async () => {
  service = await sharedService();
  folder = await temporaryFolder();
  env = { DATA_DIR: service.dataDir, DAUYS_API_KEY: service.key, TMPDIR: folder };
  const lectures = join(folder, "дәрістер");
  await mkdir(join(lectures, "екінші күн"), { recursive: true });
  const wav = speechAsWav(SPOKEN);
  await writeFile(join(lectures, "a.wav"), wav);
  await copyFile(join("test/fixtures/speech", SPOKEN), join(lectures, "a.flac"));
  // One sample differs, because different bytes are charged separately.
  await writeFile(join(lectures, "екінші күн", "сөз.wav"), wav.fill(1, wav.length - 2));
  await writeFile(join(lectures, "broken.wav"), "no sound");
  await writeFile(join(lectures, "notes.txt"), "no recording");
  await writeFile(join(lectures, ".hidden.wav"), wav);
  await symlink(lectures, join(lectures, "екінші күн", "round"));
  await symlink(join(lectures, "a.wav"), join(lectures, "link.wav"));
  await mkdir(join(folder, "elsewhere"));
  await writeFile(join(folder, "elsewhere/other.wav"), wav);
  await symlink(join(folder, "elsewhere"), join(lectures, "outside"));
  await symlink(join(folder, "nowhere.wav"), join(lectures, "lost.wav"));
});

/** Returns the credits charged for files so far, according to the ledger. */
async function charged(): Promise<number> {
  const { stdout } = await dauysInTurn(["usage", service.organizationId, "--json"], { env });
  const { data } = JSON.parse(stdout) as { data: { kind: string; credits: number }[] };
  return data.find(({ kind }) => kind === "file")?.credits ?? 0;
}

const jsonLines = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("a folder is transcribed into files that mirror it, with failures listed", async (t) => {
  const out = join(folder, "out");
  const command = ["transcribe", join(folder, "дәрістер"), "--srt", "--vtt", "--json", "-o", out];
  const first = await dauys(command, { env });
  assert.equal(first.code, 1, first.stderr);
  const names = (await readdir(out, { recursive: true })).filter((name) => /\.(srt|vtt|json)$/.test(name));
  const each = (name: string) => ["json", "srt", "vtt"].map((ending) => `${name}.${ending}`);
  assert.deepEqual(
    names.sort(),
    [...each("a.flac"), ...each("a.wav"), ...each("екінші күн/сөз.wav")].sort(),
    "no link target twice, nothing inside a linked folder, nothing hidden, no partial file",
  );
  const srt = await readFile(join(out, "a.wav.srt"), "utf8");
  assert.match(srt, SRT);
  const vtt = await readFile(join(out, "a.wav.vtt"), "utf8");
  assert.equal(vtt, `WEBVTT\n\n${srt.replace(/^\d+\n/gm, "").replaceAll(/(\d),(\d)/g, "$1.$2")}`);
  const { words, credits_charged } = JSON.parse(await readFile(join(out, "a.wav.json"), "utf8"));
  assert.ok(words.length > 0);
  const reported = jsonLines(first.stdout);
  const failed = reported
    .filter(({ status }) => status === "failed")
    .map(({ file }) => file.split("/").at(-1));
  assert.deepEqual(failed.sort(), ["broken.wav", "lost.wav"]);
  const { audio_seconds, ...sums } = reported.at(-1);
  assert.deepEqual(sums, {
    type: "summary",
    ...{ transcribed: 3, passed_over: 0, failed: 2, not_tried: 0, credits_charged: 3 * credits_charged },
  });
  assert.match(first.stderr, /^failed: .*broken\.wav: .+\(HTTP 400\)$/m);
  assert.match(first.stderr, /^failed: .*lost\.wav: no such file or folder$/m);
  assert.match(first.stderr, /dauys: 2 of 5 recordings were not transcribed\n$/);
  assert.equal(await charged(), 3 * credits_charged);

  await t.test("a second run repeats only failures, at no charge", async () => {
    const again = await dauysInTurn(command, { env });
    assert.deepEqual([again.code, jsonLines(again.stdout).at(-1).passed_over], [1, 3]);
    assert.equal(await charged(), 3 * credits_charged);
  });

  await t.test("a lost result is produced again at no charge, even under another name", async () => {
    await rm(join(out, "a.wav.srt"));
    await copyFile(join(folder, "дәрістер/a.wav"), join(folder, "renamed.wav"));
    const files = [join(folder, "дәрістер/a.wav"), join(folder, "renamed.wav")];
    const again = await dauysInTurn(["transcribe", ...files, "--srt", "-o", out], { env });
    assert.equal(again.code, 0, again.stderr);
    assert.deepEqual(again.stdout.trim().split("\n").sort(), [
      join(out, "a.wav.srt"),
      join(out, "renamed.wav.srt"),
    ]);
    assert.match(again.stderr, /2 transcribed \([\d.]+ s of audio, 0 credits, 2 already charged\)\n$/);
    assert.deepEqual(
      [await readFile(join(out, "a.wav.srt"), "utf8"), await readFile(join(out, "renamed.wav.srt"), "utf8")],
      [srt, srt],
    );
    assert.equal(await charged(), 3 * credits_charged);
  });

  await t.test("--again transcribes again, at the usual charge", async () => {
    const command = ["transcribe", join(folder, "renamed.wav"), "--srt", "-o", `${out}/`, "--again", "-q"];
    assert.deepEqual(await dauysInTurn(command, { env }), {
      code: 0,
      stdout: `${out}/renamed.wav.srt\n`,
      stderr: "",
    });
    assert.equal(await charged(), 4 * credits_charged);
  });
});

test("one recording is written to standard output, or to a file whose extension sets the format", async () => {
  const source = join(folder, "дәрістер/a.flac");
  const text = await dauys(["transcribe", source], { env });
  assert.match(text.stdout, /^[А-Я][А-Яа-я ,]+[.?]\n$/);
  const srt = await dauys(["transcribe", source, "--srt"], { env });
  assert.match(srt.stdout, SRT);
  const place = join(folder, "жазба.srt");
  const note = await dauys(["transcribe", source, "-o", place], { env });
  assert.deepEqual([note.code, note.stdout], [0, ""]);
  assert.match(note.stderr, /жазба\.srt: [\d.]+ s of audio, already charged\n$/);
  assert.equal(await readFile(place, "utf8"), srt.stdout);
});

test("usage without an organization reports the key's own", async () => {
  const { code, stdout, stderr } = await dauysInTurn(["usage"], { env });
  assert.equal(code, 0, stderr);
  assert.match(
    stdout,
    /^DAY +KIND +PATH +REQUESTS +USED +CREDITS\n\S+ +file +\/v1\/transcribe +4 +[\d.]+ seconds +\d+\n/,
  );
  const { data } = JSON.parse((await dauysInTurn(["usage", "--json"], { env })).stdout);
  assert.equal(data[0].credits, await charged());
  const wrong = await dauysInTurn(["usage", "--from", "yesterday"], { env });
  assert.match(wrong.stderr, /^dauys: from must be a day such as 2026-11-21, received "yesterday"/);
  assert.equal((await dauysInTurn(["usage", "org_development", "--from", "2026-11-21"], { env })).code, 2);
});

test("status reports the service to people and programs", async () => {
  const { version } = JSON.parse(await readFile("package.json", "utf8"));
  const { code, stdout, stderr } = await dauysInTurn(["status"], { env });
  assert.equal(code, 0, stderr);
  assert.match(stdout, new RegExp(`^service  ${service.url}, version ${version}\n`));
  assert.match(
    stdout,
    /\nhealth {3}ok\nready {4}yes\nmodels {3}svc-kk-ru-v2, svc-kk-v1\nbalance {2}\d+ credits\n/,
  );
  const known = JSON.parse((await dauysInTurn(["status", "--json"], { env })).stdout);
  const { tier, balance, held, available } = known.balance;
  assert.deepEqual([tier, available], ["free", balance - held]);
  const refused = await dauysInTurn(["status", "--key", `sk-svc-${"0".repeat(48)}`], { env });
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^dauys: the service rejected the key: missing or invalid API key/);
  const json = JSON.parse((await dauysInTurn(["status", "--json", "--url", service.url])).stdout);
  assert.deepEqual([json.ready, json.health, json.version, json.balance], [true, "ok", version, null]);
  assert.match(json.balance_detail, /without an API key/);
  const away = await dauysInTurn(["status", "--url", "http://127.0.0.1:1"]);
  assert.deepEqual([away.code, away.stdout], [1, ""]);
  assert.match(away.stderr, /ECONNREFUSED; start the service with `npm start`/);
});

test("--pronunciations accepts pairs, JSON and a file", async () => {
  const file = join(folder, "words.json");
  await writeFile(file, '\ufeff[{"word": "GPT", "say": "гэ пэ тэ"}]');
  const said: Buffer[] = [];
  for (const given of ["GPT=гэ пэ тэ", '[{"word":"GPT","say":"гэ пэ тэ"}]', file, null]) {
    const output = join(folder, "gpt.wav");
    const more = given === null ? [] : ["--pronunciations", given];
    const args = ["speak", "GPT", "-o", output, "--nfe", "4", "--seed", "3", "-q", ...more];
    assert.deepEqual(await dauysInTurn(args, { env }), { code: 0, stdout: "", stderr: "" });
    said.push(await readFile(output));
  }
  assert.deepEqual([said[1], said[2]], [said[0], said[0]]);
  assert.notDeepEqual(said[3], said[0]);
  const wrong = await dauysInTurn(["speak", "GPT", "-o", join(folder, "x.wav"), "--pronunciations", "[{}]"], {
    env,
  });
  assert.match(wrong.stderr, /^dauys: pronunciations\[0\]\.word must be a string/);
  assert.ok(!existsSync(join(folder, "x.wav")));
});
