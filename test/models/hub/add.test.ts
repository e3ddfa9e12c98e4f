import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { readPackage } from "../../../native/models/find-packages.js";
import { type AddJob, addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { addPackage } from "../../../src/models/hub/add-package.js";
import { bundlePackage } from "../../../src/models/hub/bundle.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import type { AddedFile, Installed } from "../../../src/models/hub/install.js";
import { withInstallLock } from "../../../src/models/hub/install-lock.js";
import { verifyPackage } from "../../../src/models/verify.js";
import { temporaryFolder } from "../../support/folders.js";
import { type Fault, LocalHub, type SeenRequest, sha256 } from "../../support/local-hub.js";
import { type Changes, COMMIT, REPOSITORIES, TOKEN, tinyCatalogue } from "../../support/tiny-catalogue.js";

const STALL_MS = 500;
/** How long to wait for a server that must not be given up. */
const PATIENCE_MS = 60_000;
let hub: LocalHub;
let folder: string;
let notes: string[];
/** The number of bytes of the downloaded file. */
let arrived: number;

before(async () => {
  hub = await LocalHub.start(REPOSITORIES);
});
after(() => hub.stop());
beforeEach(async () => {
  folder = await temporaryFolder();
  hub.requests.length = 0;
  hub.fault = () => null;
  notes = [];
  arrived = 0;
});

type Job = Partial<AddJob> & {
  readonly changes?: Changes;
  readonly environment?: Record<string, string>;
  readonly stallMs?: number;
};

/** Adds a model of the tests' catalogue. */
async function add(
  name: string,
  { changes, environment = {}, stallMs = PATIENCE_MS, ...job }: Job = {},
): Promise<Installed> {
  const { catalogue } = await tinyCatalogue(changes);
  return await addFromCatalogue({
    catalogue,
    entry: catalogue.find((entry) => entry.name === name)!,
    variant: "fp32",
    vad: "near",
    folders: { read: [folder], install: folder },
    hub: { ...readHubOptions({ HF_ENDPOINT: hub.endpoint, ...environment }), stallMs },
    from: null,
    isTrusted: false,
    retry: { tries: 3, firstPauseMs: 1 },
    signal: new AbortController().signal,
    observer: {
      progress: ({ bytes }) => {
        arrived = bytes;
      },
      note: (text) => void notes.push(text),
    },
    ...job,
  });
}

test("a package is downloaded through redirects, with the token sent only to the hub", async () => {
  const { isNew, files } = await add("tiny-listener", { environment: { HF_TOKEN: "hf_mine" } });
  assert.equal(isNew, true);
  assert.deepEqual(
    files.map(({ name, path }) => [name, path]),
    [
      ["model", "model.onnx"],
      ["vocabulary", "tokens.txt"],
    ],
  );
  const { manifest } = await readPackage(join(folder, "tiny-listener"), "transcription");
  assert.equal(manifest.id, "tiny-listener");
  assert.deepEqual(await visibleIn(folder), ["tiny-listener"]);
  const tokens = (server: SeenRequest["server"]) =>
    new Set(
      hub.requests.filter((each) => each.server === server).map(({ headers }) => headers.authorization),
    );
  assert.deepEqual(tokens("hub"), new Set(["Bearer hf_mine"]));
  assert.deepEqual(tokens("cdn"), new Set([undefined]));
  const text = await readFile(join(folder, "tiny-listener/manifest.json"), "utf8");
  assert.deepEqual(JSON.parse(text).source, { repository: "tiny/gigaam", revision: COMMIT, variant: "fp32" });
});

test("only missing and damaged files are downloaded; equal ones are shared", async () => {
  await add("tiny-listener");
  hub.requests.length = 0;
  assert.equal((await add("tiny-listener")).isNew, false);
  assert.equal(hub.requests.length, 0);
  await add("tiny-listener", { variant: "int8" });
  assert.equal(hub.requests.length, 0);
  const inodes = await Promise.all(
    ["tiny-listener", "tiny-listener-int8"].map((id) => stat(join(folder, id, "model.onnx"))),
  );
  assert.equal(inodes[0]!.ino, inodes[1]!.ino);
  // No other package shares this file.
  await writeFile(join(folder, "tiny-listener/manifest.json"), "{}");
  assert.equal((await add("tiny-listener")).isNew, true);
  await readPackage(join(folder, "tiny-listener"), "transcription");
});

test("adding or changing Silero downloads nothing else", async () => {
  await add("tiny-listener");
  hub.requests.length = 0;
  const { isNew, files } = await add("tiny-listener", { vad: "silero" });
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
  assert.deepEqual([downloadsOf("ctc.onnx").length, downloadsOf("vad.onnx").length], [0, 1]);
  const withVad = await readPackage(join(folder, "tiny-listener"), "transcription");
  assert.ok("vad" in withVad.manifest.files);
  hub.requests.length = 0;
  await add("tiny-listener", { vad: "near" });
  assert.equal(hub.requests.length, 0);
  const without = await readPackage(join(folder, "tiny-listener"), "transcription");
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
  const installed = await add("tiny-speaker", { changes });
  const paths = ["acoustic.onnx", "vocoder.onnx", "vocoder.gpu.onnx", "symbols.json"];
  assert.deepEqual(
    installed.files.map(({ path }) => path),
    paths,
  );
  const model = await readPackage(installed.folder, "synthesis");
  const { path, sha256: hash, external } = gpu;
  assert.deepEqual(model.manifest.files["vocoder"]?.gpu, { path, sha256: hash, external });
  assert.equal((await add("tiny-speaker", { changes })).isNew, false);

  const other = await temporaryFolder();
  const tar = join(folder, "speaker.tar");
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

test("a download resumes where its connection was cut, also in the next process", async () => {
  let cuts = 0;
  hub.fault = ({ path }): Fault | null => (path.includes("ctc.onnx") && cuts++ < 2 ? cutAfter(9_000) : null);
  await add("tiny-listener");
  const ranges = downloadsOf("ctc.onnx").map(({ headers }) => headers.range);
  assert.equal(ranges.length, 3);
  assert.equal(ranges[0], undefined);
  for (const range of ranges.slice(1)) assert.match(range!, /^bytes=[1-9]\d*-$/);
  assert.match(notes.join("\n"), /the connection was cut; trying again/);

  folder = await temporaryFolder();
  hub.fault = ({ path }) => (path.includes("ctc.onnx") ? cutAfter(9_000) : null);
  hub.requests.length = 0;
  await assert.rejects(
    add("tiny-listener", { retry: { tries: 1, firstPauseMs: 1 } }),
    /the downloaded part is kept/,
  );
  assert.deepEqual(await visibleIn(folder), []);
  hub.fault = () => null;
  await add("tiny-listener");
  assert.match(downloadsOf("ctc.onnx").at(-1)!.headers.range!, /^bytes=[1-9]\d*-$/);
});

test("a server that stalls or sends the wrong range is retried until the file is complete", async () => {
  for (const kind of ["stall", "whole", "shifted"] as const) {
    folder = await temporaryFolder();
    let turn = 0;
    hub.fault = ({ path }): Fault | null => {
      if (!path.includes("ctc.onnx")) return null;
      turn++;
      if (turn === 1) return kind === "stall" ? { kind, after: 9_000 } : cutAfter(9_000);
      return turn === 2 && kind !== "stall" ? { kind } : null;
    };
    await add("tiny-listener", kind === "stall" ? { stallMs: STALL_MS } : {});
    await readPackage(join(folder, "tiny-listener"), "transcription");
    assert.ok(turn >= 2, kind);
  }
});

test("after 503 and 429 the download waits as requested; after a permanent 500 it fails with the reason", async () => {
  let turn = 0;
  hub.fault = ({ server }): Fault | null => {
    if (server !== "cdn") return null;
    turn++;
    if (turn > 2) return null;
    return { kind: "status", status: turn === 1 ? 503 : 429, headers: { "retry-after": "0" } };
  };
  await add("tiny-listener");
  assert.match(notes.join("\n"), /returned 503; trying again in 0 s\n.*returned 429; trying again in 0 s/);
  folder = await temporaryFolder();
  hub.fault = () => ({ kind: "status", status: 500 });
  await assert.rejects(
    add("tiny-listener"),
    /^AddError: Cannot download tiny-listener\/model.onnx: .* returned 500$/,
  );
});

test("a wrong file is removed and reported with both hashes", async () => {
  hub.fault = ({ path }) => (path.includes("ctc.onnx") ? { kind: "changed" } : null);
  const wanted = sha256(REPOSITORIES["tiny/gigaam"]!.files["ctc.onnx"]!);
  const found = /[0-9a-f]{64}/.source;
  await assert.rejects(
    add("tiny-listener"),
    new RegExp(`model.onnx is the wrong file, and was deleted: its sha256 must be ${wanted}, found ${found}`),
  );
  assert.deepEqual(await readdir(join(folder, ".tiny-listener.partial")), []);
});

test("a wrong catalogue is reported before anything is downloaded", async () => {
  const wrong = { file: { model: { sha256: "0".repeat(64) } } };
  await assert.rejects(
    add("tiny-listener", { changes: wrong }),
    /its sha256 must be 0{64}, the server reports [0-9a-f]{64}/,
  );
  const short = { file: { model: { bytes: 7 } } };
  await assert.rejects(add("tiny-listener", { changes: short }), /must be 7 bytes long, the server has \d+/);
});

test("a damaged partial download starts from the beginning", async () => {
  await mkdir(join(folder, ".tiny-listener.partial"));
  const part = join(folder, ".tiny-listener.partial/model.onnx.part");
  await appendFile(part, "not the beginning of that file");
  await add("tiny-listener");
  assert.match(notes.join("\n"), /the unfinished download is damaged/);
  await readPackage(join(folder, "tiny-listener"), "transcription");
});

test("a file of unknown hash needs the operator's trust, and is then pinned to the hash found", async () => {
  const changes: Changes = {
    file: { model: { sha256: null, bytes: null }, vocabulary: { sha256: null, bytes: null } },
    entry: { "tiny-listener": { source: { repository: "tiny/gigaam", revision: null } } },
  };
  await assert.rejects(
    add("tiny-listener", { changes }),
    /the hash of model.onnx, tokens.txt is unknown; --trust accepts/,
  );
  assert.equal(hub.requests.length, 0);
  const { files } = await add("tiny-listener", { changes, isTrusted: true });
  const trusted = (file: AddedFile) => [file.name, file.isTrusted];
  assert.deepEqual(files.map(trusted), [
    ["model", true],
    ["vocabulary", true],
  ]);
  const manifest = JSON.parse(await readFile(join(folder, "tiny-listener/manifest.json"), "utf8"));
  assert.equal(manifest.files.model.sha256, sha256(REPOSITORIES["tiny/gigaam"]!.files["ctc.onnx"]!));
  // The package is pinned to the commit that the hub has reported.
  assert.equal(manifest.source.revision, COMMIT);
  const [, second] = hub.requests.filter(({ path }) => path.includes("/resolve/"));
  assert.match(second!.path, new RegExp(`/resolve/${COMMIT}/`));
});

test("the download of a file of unknown hash resumes only while the server confirms that it is unchanged", async () => {
  const changes: Changes = { file: { model: { sha256: null, bytes: null } } };
  await mkdir(join(folder, ".tiny-listener.partial"));
  const part = join(folder, ".tiny-listener.partial/model.onnx.part");
  await appendFile(part, "an older version's first bytes");
  await writeFile(`${part}.version`, '"another"');
  await add("tiny-listener", { changes, isTrusted: true });
  assert.deepEqual(
    downloadsOf("ctc.onnx").map(({ headers }) => headers["if-range"]),
    ['"another"'],
  );
  await readPackage(join(folder, "tiny-listener"), "transcription");
});

test("unaccepted terms and missing repositories are reported separately, with what to do", async () => {
  await assert.rejects(
    add("tiny-gated"),
    /denies access to tiny-gated\/acoustic.onnx \(401, GatedRepo\): set HF_TOKEN .* http:.*\/tiny\/gated$/,
  );
  await add("tiny-gated", { environment: { HF_TOKEN: TOKEN } });
  folder = await temporaryFolder();
  const gone = { entry: { "tiny-speaker": { source: { repository: "tiny/gone", revision: COMMIT } } } };
  await assert.rejects(
    add("tiny-speaker", { changes: gone }),
    /has no tiny-speaker\/acoustic.onnx \(401, RepoNotFound\)/,
  );
  const other = { file: { acoustic: { from: "other.onnx" } } };
  await assert.rejects(add("tiny-speaker", { changes: other }), /has no .* \(404, EntryNotFound\)/);
});

test("a full disk is reported before anything is downloaded", async () => {
  const changes: Changes = { file: { model: { bytes: null, aboutBytes: 10 ** 15 } } };
  await assert.rejects(
    add("tiny-listener", { changes }),
    /too little disk space for .*: 1000000000\.\d MB needed/,
  );
  assert.equal(hub.requests.length, 0);
});

test("a full disk is reported, and the download resumes once there is space again", async (t) => {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=17m", "tmpfs", folder]);
  if (mounted.status !== 0) return t.skip("mounting a small disk needs root");
  const filler = join(folder, "filler");
  try {
    hub.onSent = () => {
      hub.onSent = () => {};
      // Fill the disk with as much as fits.
      assert.throws(() => writeFileSync(filler, Buffer.alloc(17 << 20)), { code: "ENOSPC" });
    };
    await assert.rejects(add("tiny-listener"), /no space left on the device; the downloaded part is kept/);
    assert.deepEqual(await visibleIn(folder), ["filler"]);
    await rm(filler);
    await add("tiny-listener");
    await readPackage(join(folder, "tiny-listener"), "transcription");
  } finally {
    hub.onSent = () => {};
    spawnSync("umount", [folder]);
  }
});

test("an entry whose package would keep the service from starting adds nothing", async () => {
  const changes = { entry: { "tiny-listener": { family: "unheard-of" } } };
  await assert.rejects(add("tiny-listener", { changes }), /family must be one of/);
  assert.deepEqual(await visibleIn(folder), []);
});

test("the second of two concurrent additions waits and finds the package", async () => {
  const signal = new AbortController().signal;
  let second: Promise<Installed> | null = null;
  await withInstallLock(folder, { signal, onWait: () => {} }, async () => {
    second = add("tiny-listener");
    while (notes.length === 0) await new Promise((settle) => setImmediate(settle));
    assert.deepEqual(await visibleIn(folder), []);
  });
  assert.match(notes.join("\n"), /another command is using .* waiting for it to finish/);
  assert.equal((await second!).isNew, true);
  const both = await Promise.all([add("tiny-listener"), add("tiny-speaker")]);
  assert.deepEqual(
    both.map(({ isNew }) => isNew),
    [false, true],
  );
});

test("an interrupted addition fails with the reason and keeps partial downloads", async () => {
  const control = new AbortController();
  hub.fault = ({ path }) => (path.includes("ctc.onnx") ? { kind: "stall", after: 9_000 } : null);
  const observer = {
    progress: ({ bytes }: { readonly bytes: number }) => {
      if (bytes > 8_000) control.abort(new Error("the operator has left"));
    },
    note: () => {},
  };
  await assert.rejects(add("tiny-listener", { signal: control.signal, observer }), /the operator has left/);
  assert.ok((await stat(join(folder, ".tiny-listener.partial/model.onnx.part"))).size > 8_000);
});

test("downloads use the usual proxy variables, including NO_PROXY", async () => {
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket, head) => {
    asked.push(request.url!);
    const [host = "", port] = request.url!.split(":");
    const upstream = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      upstream.write(head);
      upstream.pipe(socket).pipe(upstream);
    });
    for (const each of [socket, upstream]) each.on("error", () => {});
  });
  await new Promise<void>((settle) => proxy.listen(0, "127.0.0.1", settle));
  try {
    const { port } = proxy.address() as { readonly port: number };
    const environment = { HTTP_PROXY: `http://127.0.0.1:${port}` };
    await add("tiny-speaker", { environment: { ...environment, NO_PROXY: "127.0.0.1" } });
    assert.equal(asked.length, 0);
    folder = await temporaryFolder();
    await add("tiny-speaker", { environment });
    assert.ok(asked.includes(new URL(hub.endpoint).host), asked.join());
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});

function cutAfter(after: number): Fault {
  const before = arrived;
  return { kind: "cut", after, isTaken: () => arrived - before >= after };
}

function downloadsOf(name: string): readonly SeenRequest[] {
  return hub.downloads.filter(({ path }) => path.includes(name));
}

async function visibleIn(path: string): Promise<readonly string[]> {
  return (await readdir(path)).filter((name) => !name.startsWith("."));
}
