import assert from "node:assert/strict";
import { appendFile, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readPackage } from "../../../native/models/find-packages.js";
import { addPackage } from "../../../src/models/hub/add-package.js";
import { bundlePackage } from "../../../src/models/hub/bundle.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import type { AddedFile, Installed } from "../../../src/models/hub/install.js";
import { withInstallLock } from "../../../src/models/hub/install-lock.js";
import { verifyPackage } from "../../../src/models/verify.js";
import { temporaryFolder } from "../../support/folders.js";
import { type SeenRequest, sha256 } from "../../support/local-hub.js";
import { type Changes, COMMIT, REPOSITORIES } from "../../support/tiny-catalogue.js";
import { TinyAdditions } from "./tiny-additions.js";

const tiny = new TinyAdditions().useHub();

test("a package is downloaded through redirects, with the token sent only to the hub", async () => {
  const { isNew, files } = await tiny.add("tiny-listener", { environment: { HF_TOKEN: "hf_mine" } });
  assert.equal(isNew, true);
  assert.deepEqual(
    files.map(({ name, path }) => [name, path]),
    [
      ["model", "model.onnx"],
      ["vocabulary", "tokens.txt"],
    ],
  );
  const { manifest } = await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
  assert.equal(manifest.id, "tiny-listener");
  assert.deepEqual(await tiny.visible(), ["tiny-listener"]);
  const tokens = (server: SeenRequest["server"]) =>
    new Set(
      tiny.hub.requests.filter((each) => each.server === server).map(({ headers }) => headers.authorization),
    );
  assert.deepEqual(tokens("hub"), new Set(["Bearer hf_mine"]));
  assert.deepEqual(tokens("cdn"), new Set([undefined]));
  const text = await readFile(join(tiny.folder, "tiny-listener/manifest.json"), "utf8");
  assert.deepEqual(JSON.parse(text).source, { repository: "tiny/gigaam", revision: COMMIT, variant: "fp32" });
});

test("only missing and damaged files are downloaded; equal ones are shared", async () => {
  await tiny.add("tiny-listener");
  tiny.hub.requests.length = 0;
  assert.equal((await tiny.add("tiny-listener")).isNew, false);
  assert.equal(tiny.hub.requests.length, 0);
  await tiny.add("tiny-listener", { variant: "int8" });
  assert.equal(tiny.hub.requests.length, 0);
  const inodes = await Promise.all(
    ["tiny-listener", "tiny-listener-int8"].map((id) => stat(join(tiny.folder, id, "model.onnx"))),
  );
  assert.equal(inodes[0]!.ino, inodes[1]!.ino);
  // A file that no other package shares.
  await writeFile(join(tiny.folder, "tiny-listener/manifest.json"), "{}");
  assert.equal((await tiny.add("tiny-listener")).isNew, true);
  await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
});

test("adding or changing Silero downloads nothing else", async () => {
  await tiny.add("tiny-listener");
  tiny.hub.requests.length = 0;
  const { isNew, files } = await tiny.add("tiny-listener", { vad: "silero" });
  assert.deepEqual(
    [isNew, files.map(({ name, path }) => [name, path])],
    [
      true,
      [
        ["model", "model.onnx"],
        ["vocabulary", "tokens.txt"],
        ["vad", "silero_vad.onnx"],
      ],
    ],
  );
  assert.deepEqual([tiny.downloadsOf("ctc.onnx").length, tiny.downloadsOf("vad.onnx").length], [0, 1]);
  const withVad = await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
  assert.ok("vad" in withVad.manifest.files);
  tiny.hub.requests.length = 0;
  await tiny.add("tiny-listener", { vad: "near" });
  assert.equal(tiny.hub.requests.length, 0);
  const without = await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
  assert.equal("vad" in without.manifest.files, false);
});

test("a graph's GPU variant is added and bundled with the graph", async () => {
  const { "vocoder.onnx": bytes } = REPOSITORIES["tiny/matcha"]!.files;
  const gpu = {
    from: "vocoder.onnx",
    path: "vocoder.gpu.onnx",
    bytes: bytes!.length,
    sha256: sha256(bytes!),
    external: ["acoustic"],
  };
  const changes = { file: { vocoder: { gpu } } };
  const installed = await tiny.add("tiny-speaker", { changes });
  const paths = ["acoustic.onnx", "vocoder.onnx", "vocoder.gpu.onnx", "symbols.json"];
  assert.deepEqual(
    installed.files.map(({ path }) => path),
    paths,
  );
  const model = await readPackage(installed.folder, "synthesis");
  const { path, sha256: hash, external } = gpu;
  assert.deepEqual(model.manifest.files["vocoder"]?.gpu, { path, sha256: hash, external });
  assert.equal((await tiny.add("tiny-speaker", { changes })).isNew, false);

  const other = await temporaryFolder();
  const tar = join(tiny.folder, "speaker.tar");
  const { signal } = new AbortController();
  await bundlePackage(model, tar, { signal, onBytes: () => {} });
  const taken = await addPackage({
    from: tar,
    sha256: null,
    catalogue: [],
    folders: { read: [other], install: other },
    hub: readHubOptions({}),
    isTrusted: false,
    retry: { tries: 1, firstPauseMs: 1 },
    signal,
    observer: { progress: () => {}, note: () => {} },
    onLicence: () => {},
  });
  const { manifest } = await readPackage(taken.folder, "synthesis");
  assert.deepEqual(manifest.files, model.manifest.files);
  await rm(join(taken.folder, path));
  const checks = await verifyPackage({ folder: taken.folder, manifest });
  assert.deepEqual(
    checks.map((check) => [check.path, check.fault]),
    paths.map((each) => [each, each === path ? "is missing" : null]),
  );
});

test("a wrong catalogue is reported before anything is downloaded", async () => {
  const wrong = { file: { model: { sha256: "0".repeat(64) } } };
  await assert.rejects(
    tiny.add("tiny-listener", { changes: wrong }),
    /its sha256 must be 0{64}, the server reports [0-9a-f]{64}/,
  );
  const short = { file: { model: { bytes: 7 } } };
  await assert.rejects(
    tiny.add("tiny-listener", { changes: short }),
    /must be 7 bytes long, the server has \d+/,
  );
});

test("a file of unknown hash needs the operator's trust, and is then pinned to the hash found", async () => {
  const changes: Changes = {
    file: { model: { sha256: null, bytes: null }, vocabulary: { sha256: null, bytes: null } },
    entry: { "tiny-listener": { source: { repository: "tiny/gigaam", revision: null } } },
  };
  await assert.rejects(
    tiny.add("tiny-listener", { changes }),
    /the hash of model.onnx, tokens.txt is unknown.*--trust/,
  );
  assert.equal(tiny.hub.requests.length, 0);
  const { files } = await tiny.add("tiny-listener", { changes, isTrusted: true });
  const trusted = (file: AddedFile) => [file.name, file.isTrusted];
  assert.deepEqual(files.map(trusted), [
    ["model", true],
    ["vocabulary", true],
  ]);
  const manifest = JSON.parse(await readFile(join(tiny.folder, "tiny-listener/manifest.json"), "utf8"));
  assert.equal(manifest.files.model.sha256, sha256(REPOSITORIES["tiny/gigaam"]!.files["ctc.onnx"]!));
  // The package is pinned to the commit that the hub has reported.
  assert.equal(manifest.source.revision, COMMIT);
  const [, second] = tiny.hub.requests.filter(({ path }) => path.includes("/resolve/"));
  assert.match(second!.path, new RegExp(`/resolve/${COMMIT}/`));
});

test("the download of a file of unknown hash resumes only while the server confirms that it is unchanged", async () => {
  const changes: Changes = { file: { model: { sha256: null, bytes: null } } };
  await mkdir(join(tiny.folder, ".tiny-listener.partial"));
  const part = join(tiny.folder, ".tiny-listener.partial/model.onnx.part");
  await appendFile(part, "an older version's first bytes");
  await writeFile(`${part}.version`, '"another"');
  await tiny.add("tiny-listener", { changes, isTrusted: true });
  assert.deepEqual(
    tiny.downloadsOf("ctc.onnx").map(({ headers }) => headers["if-range"]),
    ['"another"'],
  );
  await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
});

test("an entry whose package would keep the service from starting adds nothing", async () => {
  const changes = { entry: { "tiny-listener": { family: "unheard-of" } } };
  await assert.rejects(tiny.add("tiny-listener", { changes }), /family must be one of/);
  assert.deepEqual(await tiny.visible(), []);
});

test("the second of two concurrent additions waits and finds the package", async () => {
  const signal = new AbortController().signal;
  let second: Promise<Installed> | null = null;
  await withInstallLock(tiny.folder, { signal, onWait: () => {} }, async () => {
    second = tiny.add("tiny-listener");
    while (tiny.notes.length === 0) await new Promise((settle) => setImmediate(settle));
    assert.deepEqual(await tiny.visible(), []);
  });
  assert.match(tiny.notes.join("\n"), /another command is using .* waiting for it to finish/);
  assert.equal((await second!).isNew, true);
  const both = await Promise.all([tiny.add("tiny-listener"), tiny.add("tiny-speaker")]);
  assert.deepEqual(
    both.map(({ isNew }) => isNew),
    [false, true],
  );
});
