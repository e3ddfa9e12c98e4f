import assert from "node:assert/strict";
import { appendFile, cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { pack } from "tar-stream";
import { readPackage } from "../../native/models/find-packages.js";
import { verifyPackage } from "../../src/models/verify.js";
import { dauysInTurn } from "../support/command-process.js";
import { temporaryFolder } from "../support/folders.js";
import { type Fault, LocalHub, sha256 } from "../support/local-hub.js";
import type { Outcome } from "../support/run-program.js";
import { COMMIT, REPOSITORIES, tinyCatalogue } from "../support/tiny-catalogue.js";
import { dauys } from "./support.js";

let hub: LocalHub;
let catalogue: string;
/** Files on the hub that are not models; tests add them. */
const bundles: Record<string, Uint8Array> = {};

before(async () => {
  hub = await LocalHub.start({ ...REPOSITORIES, "tiny/bundles": { commit: COMMIT, files: bundles } });
  catalogue = (await tinyCatalogue()).path;
});
after(() => hub.stop());

/** Runs `dauys models` on a folder. */
function models(folder: string, ...args: string[]): Promise<Outcome> {
  return dauysInTurn(commandLine(args), { env: environment(folder) });
}

function commandLine(args: readonly string[]): readonly string[] {
  return ["models", ...args, ...ours(args)];
}

function ours([action = ""]: readonly string[]): readonly string[] {
  return ["list", "add"].includes(action) ? ["--catalogue", catalogue] : [];
}

function environment(folder: string) {
  return { MODELS_DIR: folder, HF_ENDPOINT: hub.endpoint };
}

test("a catalogue model can be added, selected, verified, bundled, removed, and restored from the bundle", async (t) => {
  const folder = join(await temporaryFolder(), "models");
  const bundle = join(await temporaryFolder(), "listener.tar");

  await t.test("add prints the licence and the folder, even when repeated", async () => {
    const added = await dauys(commandLine(["add", "tiny-listener"]), { env: environment(folder) });
    assert.equal(added.code, 0, added.stderr);
    assert.equal(added.stdout, `installed tiny-listener in ${folder}/tiny-listener\n`);
    assert.match(added.stderr, /licence of tiny-listener: MIT, https:\/\/example\.org\/mit/);
    const again = JSON.parse((await models(folder, "add", "tiny-listener", "--json")).stdout);
    assert.deepEqual([again.is_new, again.files.length], [false, 2]);
    assert.equal((await stat(folder)).mode & 0o777, 0o711);
  });

  await t.test(
    "list shows licence, size, quality with its source, features, and what is installed",
    async () => {
      const { stdout } = await models(folder, "list");
      const lines = [
        "tiny-listener  (installed, default for transcription)",
        "  task            transcription",
        "  languages       ru",
        "  variants        fp32 0.0 MB, int8 0.0 MB",
        "  licence         MIT",
        "  features        live partials, hot words",
        "  live            reads in windows",
        "  voice activity  near-voice-v1",
        "  published       ru test 12.5 % WER (nobody)",
      ];
      assert.deepEqual(stdout.split("\n").slice(0, lines.length), lines);
      assert.match(stdout, /licence +CC-BY-NC-4\.0 \(needs --accept-licence\)/);
    },
  );

  await t.test("use makes it the default of its task, as list shows", async () => {
    const { code, stdout, stderr } = await models(folder, "use", "tiny-listener");
    assert.deepEqual([code, stdout], [0, "tiny-listener is now the default for transcription\n"]);
    assert.match(stderr, /restart a running service/);
    const text = await readFile(join(folder, "defaults.json"), "utf8");
    assert.deepEqual(JSON.parse(text), { transcription: "tiny-listener" });
    const { data } = JSON.parse((await models(folder, "list", "--json")).stdout);
    assert.deepEqual(data[0].installed, [
      {
        id: "tiny-listener",
        task: "transcription",
        folder: `${folder}/tiny-listener`,
        default: true,
        voice_activity: "near-voice-v1",
      },
    ]);
    assert.deepEqual(data[0].vads, ["near", "silero"]);
  });

  await t.test("bundle writes a tar that another machine can add", async () => {
    const made = await models(folder, "bundle", "tiny-listener", "-o", bundle);
    assert.equal(made.code, 0, made.stderr);
    const other = await temporaryFolder();
    const taken = await models(other, "add", "--from", bundle);
    assert.equal(taken.code, 0, taken.stderr);
    await readPackage(join(other, "tiny-listener"), "transcription");
    const verified = await models(other, "verify", "tiny-listener");
    assert.equal(verified.code, 0, verified.stderr);
    assert.equal(verified.stdout, "ok  tiny-listener/model.onnx\nok  tiny-listener/tokens.txt\n");
  });

  await t.test("a bundle can come from a URL if its hash is given", async () => {
    const bytes = await readFile(bundle);
    bundles["listener.tar"] = bytes;
    const address = `${hub.endpoint}/tiny/bundles/resolve/main/listener.tar`;
    const other = await temporaryFolder();
    const unknown = await models(other, "add", "--from", address);
    assert.deepEqual([unknown.code, await readdir(other)], [1, []]);
    assert.match(unknown.stderr, /the hash of .* is unknown; specify it with --sha256, or use --trust/);
    const wrong = await models(other, "add", "--from", address, "--sha256", "0".repeat(64));
    assert.match(wrong.stderr, /its sha256 must be 0{64}, the server reports [0-9a-f]{64}/);
    const right = await models(other, "add", "--from", address, "--sha256", sha256(bytes));
    assert.equal(right.code, 0, right.stderr);
    await readPackage(join(other, "tiny-listener"), "transcription");
    assert.deepEqual(await readdir(other), [".lock", "tiny-listener"]);
  });

  await t.test("quantize creates an intact int8 variant next to the original", async () => {
    // The graph of the model added above has no matrix products.
    const name = "tiny-nemo-streaming-ctc";
    await cp(`test/fixtures/adapters/${name}`, join(folder, name), { recursive: true });
    const made = JSON.parse((await models(folder, "quantize", name, "--json")).stdout);
    assert.equal(made.id, `${name}-own-int8`);
    assert.ok(made.products > 0 && made.bytes_after < made.bytes_before, JSON.stringify(made));
    const found = await readPackage(made.folder, "transcription");
    assert.ok((await verifyPackage(found)).every(({ isGood }) => isGood));
    for (const each of [made.folder, join(folder, name)]) await rm(each, { recursive: true });
  });

  await t.test("verify reports a changed file and exits with 1", async () => {
    await appendFile(join(folder, "tiny-listener/tokens.txt"), "x");
    const { code, stdout, stderr } = await models(folder, "verify");
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^bad tiny-listener\/tokens\.txt: sha256 must be [0-9a-f]{64}, found [0-9a-f]{64}$/m,
    );
    assert.match(stderr, /1 file failed verification; repair/);
    const { code: bundled, stderr: why } = await models(folder, "bundle", "tiny-listener", "-o", bundle);
    assert.equal(bundled, 1);
    assert.match(why, /tokens\.txt is damaged/);
  });

  await t.test("remove deletes the model and the default", async () => {
    const removed = JSON.parse((await models(folder, "remove", "tiny-listener", "--json")).stdout);
    assert.deepEqual(removed, { id: "tiny-listener", task: "transcription", default: null });
    assert.deepEqual(JSON.parse(await readFile(join(folder, "defaults.json"), "utf8")), {});
    assert.deepEqual(await readdir(folder), [".lock", "defaults.json"]);
  });
});

test("a package added with Silero keeps it when it is added or bundled again", async () => {
  const folder = await temporaryFolder();
  const voiceOf = async (place: string) =>
    JSON.parse((await models(place, "list", "--json")).stdout).data[0].installed[0].voice_activity;
  const added = await models(folder, "add", "tiny-listener", "--vad", "silero");
  assert.equal(added.code, 0, added.stderr);
  assert.match((await models(folder, "list")).stdout, /^ {2}voice activity +silero_vad\.onnx$/m);
  const again = JSON.parse((await models(folder, "add", "tiny-listener", "--json")).stdout);
  assert.deepEqual([again.is_new, again.files.length], [false, 3]);
  const bundle = join(await temporaryFolder(), "listener.tar");
  await models(folder, "bundle", "tiny-listener", "-o", bundle);
  const other = await temporaryFolder();
  const taken = await models(other, "add", "--from", bundle);
  assert.equal(taken.code, 0, taken.stderr);
  assert.equal(await voiceOf(other), "silero_vad.onnx");
  const back = JSON.parse((await models(folder, "add", "tiny-listener", "--vad", "near", "--json")).stdout);
  assert.deepEqual([back.is_new, back.files.length], [true, 2]);
  assert.equal(await voiceOf(folder), "near-voice-v1");
});

test("the shipped voice activity detector is verified in every folder, but not listed as a model", async () => {
  const folder = await temporaryFolder();
  const verified = await models(folder, "verify");
  assert.deepEqual([verified.code, verified.stdout], [0, "ok  near-voice-v1/near.onnx\n"]);
  await cp("models/near-voice-v1", join(folder, "near-voice-v1"), { recursive: true });
  const { data } = JSON.parse((await models(folder, "list", "--json")).stdout);
  assert.deepEqual(
    data.flatMap(({ installed }: { installed: readonly unknown[] }) => installed),
    [],
  );
});

test("a restrictive licence requires --accept-licence, unverified files require --trust", async () => {
  const folder = await temporaryFolder();
  const refused = await models(folder, "add", "tiny-speaker");
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /the licence of tiny-speaker restricts how .*\(CC-BY-NC-4\.0, .*\) and add --accept-licence/,
  );
  assert.equal((await models(folder, "add", "tiny-speaker", "--accept-licence")).code, 0);

  const own = await temporaryFolder();
  const manifest = JSON.parse(await readFile(join(folder, "tiny-speaker/manifest.json"), "utf8"));
  for (const file of Object.values(manifest.files) as { path: string; sha256?: string }[]) {
    await writeFile(join(own, file.path), await readFile(join(folder, "tiny-speaker", file.path)));
    delete file.sha256;
  }
  await writeFile(
    join(own, "manifest.json"),
    JSON.stringify({ ...manifest, id: "mine", licenceTerms: undefined }),
  );
  const { stderr: unknown } = await models(folder, "add", "--from", own);
  assert.match(unknown, /the hash of acoustic\.onnx, vocoder\.onnx, symbols\.json is unknown/);
  const mine = await models(folder, "add", "--from", own, "--trust");
  assert.match(mine.stdout, /trusted acoustic\.onnx: recorded sha256 [0-9a-f]{64}\n/);
  assert.match(mine.stdout, /installed mine in /);
  await readPackage(join(folder, "mine"), "synthesis");
});

test("manually downloaded files become the catalogue's package", async () => {
  const [folder, byHand] = [await temporaryFolder(), await temporaryFolder()];
  const { files } = REPOSITORIES["tiny/gigaam"]!;
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(byHand, name), bytes);
  const before = hub.requests.length;
  const plain = await models(folder, "add", "tiny-listener", "--from", byHand);
  assert.equal(plain.code, 0, plain.stderr);
  const withSilero = ["add", "tiny-listener", "--vad", "silero", "--from", byHand];
  const { stderr: without } = await models(folder, ...withSilero);
  assert.match(without, new RegExp(`${byHand} has no vad\\.onnx \\(tiny/vad at ${COMMIT}`));
  await mkdir(join(byHand, "silero"));
  await writeFile(join(byHand, "silero/vad.onnx"), REPOSITORIES["tiny/vad"]!.files["silero/vad.onnx"]!);
  const added = await models(folder, ...withSilero);
  assert.equal(added.code, 0, added.stderr);
  assert.ok((await readdir(join(folder, "tiny-listener"))).includes("silero_vad.onnx"));
  assert.equal(hub.requests.length, before);
});

test("typos get the nearest name; a failed download prints one line", async () => {
  const folder = await temporaryFolder();
  for (const [args, code, message] of [
    [["ad"], 2, /unknown action "ad": did you mean "add"\?/],
    [["add"], 2, /add needs a NAME; see `dauys models list`/],
    [["add", "tiny-listner"], 1, /unknown model "tiny-listner": did you mean "tiny-listener"\?/],
    [["add", "tiny-vad"], 1, /"tiny-vad" is part of other models; add tiny-listener/],
    [
      ["add", "tiny-listener", "--vad", "webrtc"],
      2,
      /--vad must be near or silero for tiny-listener, received "webrtc"/,
    ],
    [["add", "tiny-speaker", "--vad", "silero"], 2, /tiny-speaker does not support --vad, received "silero"/],
    [["add", "--from", "/tmp", "--vad", "silero"], 2, /--vad requires a NAME/],
    [["use", "near-voice-v1"], 1, /"near-voice-v1" is the built-in voice activity detector/],
    [["remove", "near-voice-v1"], 1, /"near-voice-v1" is the built-in voice activity detector/],
    [
      ["add", "tiny-listener", "--variant", "int4"],
      2,
      /--variant must be fp32 or int8 for tiny-listener, received "int4"/,
    ],
    [["use", "tiny-listener"], 1, /"tiny-listener" is not installed/],
    [["bundle", "tiny-listener"], 2, /bundle needs -o FILE/],
    [["add", "--from", "/is/not/there"], 1, /--from must be .*, received "\/is\/not\/there"/],
  ] as const) {
    const { code: found, stderr: why } = await models(folder, ...args);
    assert.equal(found, code, why);
    assert.match(why, message);
  }
  hub.fault = ({ server }): Fault | null => (server === "cdn" ? { kind: "status", status: 404 } : null);
  const { code, stderr: why } = await models(folder, "add", "tiny-listener", "-q");
  hub.fault = () => null;
  assert.deepEqual([code, why.trimEnd().split("\n").length], [1, 1]);
  assert.match(why, /^dauys: 127\.0\.0\.1:\d+ has no tiny-listener\/model\.onnx \(404\)/);
});

test("a bundle with a link, an outside path, or excess data is rejected without leaving files", async () => {
  const [folder, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
  for (const header of [
    { name: "p/model.onnx", type: "symlink", linkname: "/etc/passwd" },
    { name: "p/model.onnx", type: "link", linkname: "/etc/passwd" },
    { name: "p/../../escaped", type: "file" },
    { name: "/escaped", type: "file" },
    { name: "p\\..\\escaped", type: "file" },
    { name: "p/fifo", type: "fifo" },
  ] as const) {
    const tar = pack();
    tar.entry({ name: "p/manifest.json" }, "{}");
    tar.entry({ ...header, size: 0 }).end();
    tar.finalize();
    const path = join(elsewhere, "evil.tar");
    await writeFile(path, await buffer(tar));
    const { code, stderr: why } = await models(folder, "add", "--from", path, "--trust");
    assert.equal(code, 1, header.name);
    assert.match(why, /is not a bundle: it contains /, header.name);
  }
  assert.deepEqual(await readdir(folder), [".lock"]);
  await assert.rejects(stat(join(folder, "escaped")), { code: "ENOENT" });
});
