import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIOME = fileURLToPath(new URL("../../node_modules/@biomejs/biome/bin/biome", import.meta.url));

/** Rooms, each with an import that its files may have, and some that they must not. */
const ARROWS: readonly { room: string; allowed: string; refused: readonly string[] }[] = [
  {
    room: "src/domain/audio",
    allowed: "../errors.js",
    refused: [
      "node:fs/promises",
      "../../ports/clock.js",
      "../../service.js",
      "../../../native/ring/pcm-ring.js",
    ],
  },
  {
    room: "src/ports",
    allowed: "../domain/errors.js",
    refused: ["../store/store.js", "../protocol/stream-messages.js"],
  },
  {
    room: "src/protocol",
    allowed: "../domain/errors.js",
    refused: ["../transport/routes.js", "ws"],
  },
  {
    room: "src/transport",
    allowed: "../../actors/session/conversation.js",
    refused: [
      "../store/store.js",
      "../front-threads/threaded-front.js",
      "../../actors/engine/live-engine.js",
      "postgres",
      "onnxruntime-node",
    ],
  },
  {
    room: "src/front-threads",
    allowed: "../transport/uws-front.js",
    refused: ["../store/store.js", "../protocol/endpoints.js", "../../actors/session/live.js", "ws"],
  },
  { room: "src/store", allowed: "../ports/key-store.js", refused: ["../transport/routes.js", "ws"] },
  {
    room: "src/client",
    allowed: "../protocol/wav-frames.js",
    refused: ["../protocol/stream-messages.js", "../ports/clock.js", "node:http", "ws", "zod"],
  },
  { room: "src/player", allowed: "../domain/audio/wav.js", refused: ["../client/client.js", "node:fs"] },
  {
    room: "src/console",
    allowed: "../transport/exchange.js",
    refused: ["../store/store.js", "../client/browser.js", "postgres"],
  },
  {
    room: "src/console/pages",
    allowed: "../../client/browser.js",
    refused: ["../../transport/exchange.js", "../../client/node.js", "zod", "node:fs"],
  },
  {
    room: "src/cli",
    allowed: "../client/node.js",
    refused: ["../transport/routes.js", "../../actors/session/live.js"],
  },
  {
    room: "actors/kernel",
    allowed: "./mailbox.js",
    refused: ["../session/live.js", "../../src/ports/clock.js"],
  },
  {
    room: "actors/session",
    allowed: "../kernel/actor.js",
    refused: ["../engine/live-engine.js", "../../native/ring/pcm-ring.js", "../../src/store/store.js"],
  },
  {
    room: "actors/engine",
    allowed: "../../native/ring/pcm-ring.js",
    refused: ["../session/live.js", "../../native/onnx/graph.js", "onnxruntime-node"],
  },
  {
    room: "native/worker",
    allowed: "../onnx/graph.js",
    refused: ["../../actors/kernel/actor.js", "../../src/store/store.js", "postgres"],
  },
];

test("the lint holds the import arrows of every room", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dauys-arrows-"));
  try {
    const settings = JSON.parse(await readFile(join(ROOT, "biome.json"), "utf8")) as Record<string, unknown>;
    await writeFile(join(folder, "biome.json"), JSON.stringify({ ...settings, vcs: { enabled: false } }));
    const expected: string[] = [];
    for (const { room, allowed, refused } of ARROWS) {
      await writeProbe(folder, `${room}/allowed.ts`, allowed);
      for (const [index, specifier] of refused.entries()) {
        await writeProbe(folder, `${room}/refused${index}.ts`, specifier);
        expected.push(`${room}/refused${index}.ts`);
      }
    }
    assert.deepEqual(refusedFiles(folder), expected.sort());
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

async function writeProbe(folder: string, path: string, specifier: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), `import { x } from "${specifier}";\n\nexport const y = x;\n`);
}

/** Files with an import that the lint refuses. */
function refusedFiles(folder: string): string[] {
  const lint = spawnSync(process.execPath, [BIOME, "lint", "--max-diagnostics=none", "--colors=off", "."], {
    cwd: folder,
    encoding: "utf8",
  });
  const found = (lint.stdout + lint.stderr).matchAll(/^(\S+?):\d+:\d+ lint\/style\/noRestrictedImports/gm);
  return [...found].map((match) => match[1]!).sort();
}
