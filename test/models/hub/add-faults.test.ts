import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { appendFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { readPackage } from "../../../native/models/find-packages.js";
import { temporaryFolder } from "../../support/folders.js";
import { type Fault, sha256 } from "../../support/local-hub.js";
import { type Changes, COMMIT, REPOSITORIES, TOKEN } from "../../support/tiny-catalogue.js";
import { TinyAdditions } from "./tiny-additions.js";

const STALL_MS = 500;

const tiny = new TinyAdditions().useHub();

test("a cut connection resumes where it ended, and so does the next process", async () => {
  let cuts = 0;
  tiny.hub.fault = ({ path }): Fault | null =>
    path.includes("ctc.onnx") && cuts++ < 2 ? tiny.cutAfter(9_000) : null;
  await tiny.add("tiny-listener");
  const ranges = tiny.downloadsOf("ctc.onnx").map(({ headers }) => headers.range);
  assert.equal(ranges.length, 3);
  assert.equal(ranges[0], undefined);
  for (const range of ranges.slice(1)) assert.match(range!, /^bytes=[1-9]\d*-$/);
  assert.match(tiny.notes.join("\n"), /the connection was cut; trying again/);

  tiny.folder = await temporaryFolder();
  tiny.hub.fault = ({ path }) => (path.includes("ctc.onnx") ? tiny.cutAfter(9_000) : null);
  tiny.hub.requests.length = 0;
  await assert.rejects(
    tiny.add("tiny-listener", { retry: { tries: 1, firstPauseMs: 1 } }),
    /the downloaded part is kept/,
  );
  assert.deepEqual(await tiny.visible(), []);
  tiny.hub.fault = () => null;
  await tiny.add("tiny-listener");
  assert.match(tiny.downloadsOf("ctc.onnx").at(-1)!.headers.range!, /^bytes=[1-9]\d*-$/);
});

test("retries a server that stalls or sends another range until the file is complete", async () => {
  for (const kind of ["stall", "whole", "shifted"] as const) {
    tiny.folder = await temporaryFolder();
    let turn = 0;
    tiny.hub.fault = ({ path }): Fault | null => {
      if (!path.includes("ctc.onnx")) return null;
      turn++;
      if (turn === 1) return kind === "stall" ? { kind, after: 9_000 } : tiny.cutAfter(9_000);
      return turn === 2 && kind !== "stall" ? { kind } : null;
    };
    await tiny.add("tiny-listener", kind === "stall" ? { stallMs: STALL_MS } : {});
    await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
    assert.ok(turn >= 2, kind);
  }
});

test("waits after 503 and 429 as requested; gives up a permanent 500 with its reason", async () => {
  let turn = 0;
  tiny.hub.fault = ({ server }): Fault | null => {
    if (server !== "cdn") return null;
    turn++;
    if (turn > 2) return null;
    return { kind: "status", status: turn === 1 ? 503 : 429, headers: { "retry-after": "0" } };
  };
  await tiny.add("tiny-listener");
  assert.match(
    tiny.notes.join("\n"),
    /returned 503; trying again in 0 s\n.*returned 429; trying again in 0 s/,
  );
  tiny.folder = await temporaryFolder();
  tiny.hub.fault = () => ({ kind: "status", status: 500 });
  await assert.rejects(
    tiny.add("tiny-listener"),
    /^AddError: Cannot download tiny-listener\/model.onnx: .* returned 500$/,
  );
});

test("a wrong file is removed and reported with both hashes", async () => {
  tiny.hub.fault = ({ path }) => (path.includes("ctc.onnx") ? { kind: "changed" } : null);
  const wanted = sha256(REPOSITORIES["tiny/gigaam"]!.files["ctc.onnx"]!);
  const found = /[0-9a-f]{64}/.source;
  await assert.rejects(
    tiny.add("tiny-listener"),
    new RegExp(`model.onnx is the wrong file, and was deleted: its sha256 must be ${wanted}, found ${found}`),
  );
  assert.deepEqual(await readdir(join(tiny.folder, ".tiny-listener.partial")), []);
});

test("a damaged partial download starts over", async () => {
  await mkdir(join(tiny.folder, ".tiny-listener.partial"));
  const part = join(tiny.folder, ".tiny-listener.partial/model.onnx.part");
  await appendFile(part, "not the beginning of that file");
  await tiny.add("tiny-listener");
  assert.match(tiny.notes.join("\n"), /the unfinished download is damaged/);
  await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
});

test("unaccepted terms and missing repositories are reported separately, with what to do", async () => {
  await assert.rejects(
    tiny.add("tiny-gated"),
    /denies access to tiny-gated\/acoustic.onnx \(401, GatedRepo\): set HF_TOKEN .* http:.*\/tiny\/gated$/,
  );
  await tiny.add("tiny-gated", { environment: { HF_TOKEN: TOKEN } });
  tiny.folder = await temporaryFolder();
  const gone = { entry: { "tiny-speaker": { source: { repository: "tiny/gone", revision: COMMIT } } } };
  await assert.rejects(
    tiny.add("tiny-speaker", { changes: gone }),
    /has no tiny-speaker\/acoustic.onnx \(401, RepoNotFound\)/,
  );
  const other = { file: { acoustic: { from: "other.onnx" } } };
  await assert.rejects(tiny.add("tiny-speaker", { changes: other }), /has no .* \(404, EntryNotFound\)/);
});

test("a full disk is reported before anything is downloaded", async () => {
  const changes: Changes = { file: { model: { bytes: null, aboutBytes: 10 ** 15 } } };
  await assert.rejects(
    tiny.add("tiny-listener", { changes }),
    /too little disk space for .*: 1000000000\.\d MB needed/,
  );
  assert.equal(tiny.hub.requests.length, 0);
});

test("reports a full disk and resumes once there is space again", async (t) => {
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=17m", "tmpfs", tiny.folder]);
  if (mounted.status !== 0) return t.skip("mounting a small disk needs root");
  const filler = join(tiny.folder, "filler");
  try {
    tiny.hub.onSent = () => {
      tiny.hub.onSent = () => {};
      // Writes as much as fits.
      assert.throws(() => writeFileSync(filler, Buffer.alloc(17 << 20)), { code: "ENOSPC" });
    };
    await assert.rejects(
      tiny.add("tiny-listener"),
      /no space left on the device; the downloaded part is kept/,
    );
    assert.deepEqual(await tiny.visible(), ["filler"]);
    await rm(filler);
    await tiny.add("tiny-listener");
    await readPackage(join(tiny.folder, "tiny-listener"), "transcription");
  } finally {
    tiny.hub.onSent = () => {};
    spawnSync("umount", [tiny.folder]);
  }
});

test("an interrupted addition ends with its reason and keeps partial downloads", async () => {
  const control = new AbortController();
  tiny.hub.fault = ({ path }) => (path.includes("ctc.onnx") ? { kind: "stall", after: 9_000 } : null);
  const observer = {
    progress: ({ bytes }: { readonly bytes: number }) => {
      if (bytes > 8_000) control.abort(new Error("the operator has left"));
    },
    note: () => {},
  };
  await assert.rejects(
    tiny.add("tiny-listener", { signal: control.signal, observer }),
    /the operator has left/,
  );
  assert.ok((await stat(join(tiny.folder, ".tiny-listener.partial/model.onnx.part"))).size > 8_000);
});

test("uses the usual proxy variables, including NO_PROXY", async () => {
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
    await tiny.add("tiny-speaker", { environment: { ...environment, NO_PROXY: "127.0.0.1" } });
    assert.equal(asked.length, 0);
    tiny.folder = await temporaryFolder();
    await tiny.add("tiny-speaker", { environment });
    assert.ok(asked.includes(new URL(tiny.hub.endpoint).host), asked.join());
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
});
