import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { findPackages } from "../../../native/models/find-packages.js";
import { type CatalogueEntry, readCatalogue } from "../../../src/models/catalogue.js";
import { addFromCatalogue } from "../../../src/models/hub/add-from-catalogue.js";
import { readHubOptions } from "../../../src/models/hub/client.js";
import { verifyPackage } from "../../../src/models/verify.js";
import { changeManifest, temporaryFolder } from "../../support/folders.js";
import { LocalHub, sha256 } from "../../support/local-hub.js";
import { RUN_FACTOR, SEED, uniform } from "../../support/seed.js";
import { REPOSITORIES, tinyCatalogue } from "../../support/tiny-catalogue.js";

const CHILD = fileURLToPath(new URL("../../support/add-models-child.js", import.meta.url));
/** Each kill ends this many additions of one process, each at a different point. */
const KILLS = 10 * RUN_FACTOR;
const AT_ONCE = 5;
const NAME = "tiny-listener";
/** A file that arrives in many pieces, before the package's own files. */
const BALLAST = Buffer.alloc(300_000, "ballast ");
/** Maximum number of steps by which an addition is ahead of the next; three of its files are small. */
const MOST_AHEAD = 10;
/** Maximum number of folder checks, about 50 µs each, between the last byte and the kill. */
const MOST_LOOKS = 300;

test(`kill -9 at random moments of ${KILLS * AT_ONCE} additions leaves no broken package`, async () => {
  const { path, entry, catalogue } = await catalogueWithBallast();
  const { commit, files } = REPOSITORIES["tiny/gigaam"]!;
  const hub = await LocalHub.start({
    ...REPOSITORIES,
    "tiny/gigaam": { commit, files: { ...files, "ballast.bin": BALLAST } },
  });
  const random = uniform(SEED);
  const seen = { none: 0, whole: 0, older: 0, resumed: 0 };
  try {
    const isMissing = () => Object.values(seen).includes(0);
    // More rounds if all kills came too early or too late on this machine.
    for (let kill = 0; kill < KILLS || (kill < 5 * KILLS && isMissing()); kill++) {
      const folders = await Promise.all(Array.from({ length: AT_ONCE }, temporaryFolder));
      // Every other time they replace an older version.
      if (kill % 2 === 1) for (const folder of folders) await installOlder(folder);
      await killSomewhere(folders, [path, NAME, hub.endpoint], random);
      for (const [index, folder] of folders.entries()) {
        const where = `kill ${kill}, addition ${index}`;
        const [version = "none"] = await wholePackages(folder, where);
        seen[version]++;
        const partBytes = await sizeOf(partOf(folder));
        hub.requests.length = 0;
        await addFromCatalogue({
          catalogue,
          entry,
          variant: "fp32",
          vad: "silero",
          folders: { read: [folder], install: folder },
          hub: readHubOptions({ HF_ENDPOINT: hub.endpoint }),
          from: null,
          isTrusted: false,
          retry: { tries: 1, firstPauseMs: 1 },
          signal: new AbortController().signal,
          observer: { progress: () => {}, note: (text) => assert.fail(`${where}: ${text}`) },
        });
        const asked = hub.downloads.find((request) => request.path.includes("ballast"));
        if (partBytes > 0 && partBytes < BALLAST.length) {
          assert.equal(asked?.headers.range, `bytes=${partBytes}-`, where);
          seen.resumed++;
        }
        assert.deepEqual(await wholePackages(folder, where), ["whole"], where);
        assert.deepEqual((await readdir(folder)).sort(), [".lock", NAME], where);
        assert.deepEqual((await readdir(join(folder, NAME))).length, 6, where);
      }
    }
  } finally {
    await hub.stop();
  }
  // The kills were spread over the whole addition.
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 0, `${what}: ${JSON.stringify(seen)}`);
});

async function catalogueWithBallast(): Promise<{
  readonly path: string;
  readonly entry: CatalogueEntry;
  readonly catalogue: readonly CatalogueEntry[];
}> {
  const { path, catalogue } = await tinyCatalogue();
  const [first, ...others] = catalogue;
  const ballast = {
    from: "ballast.bin",
    path: "ballast.bin",
    bytes: BALLAST.length,
    sha256: sha256(BALLAST),
  };
  const files = { ballast, ...first!.variants["fp32"]!.files };
  await writeFile(path, JSON.stringify([{ ...first, variants: { fp32: { files } } }, ...others]));
  const changed = await readCatalogue(path);
  return { path, entry: changed[0]!, catalogue: changed };
}

/** Starts additions and kills them when one has this many bytes, or a little after its last. */
async function killSomewhere(
  folders: readonly string[],
  args: readonly string[],
  random: () => number,
): Promise<void> {
  const places = folders.flatMap((folder) => [String(1 + Math.floor(random() * MOST_AHEAD)), folder]);
  const watched = Math.floor(random() * folders.length);
  const killAt = Math.floor(random() * 1.5 * BALLAST.length);
  const looks = Math.floor(random() * MOST_LOOKS);
  const child = spawn(process.execPath, [CHILD, ...args, ...places], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    const [index, bytes] = line.split(" ").map(Number);
    if (index !== watched || bytes! < Math.min(killAt, BALLAST.length)) continue;
    if (killAt >= BALLAST.length) for (let i = 0; i < looks; i++) await stat(folders[watched]!);
    child.kill("SIGKILL");
    break;
  }
  await ended;
}

function partOf(folder: string): string {
  return join(folder, `.${NAME}.partial/ballast.bin.part`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

/** The same package with other files. */
async function installOlder(folder: string): Promise<void> {
  const target = join(folder, NAME);
  await cp("test/fixtures/adapters/tiny-nemo-ctc", target, { recursive: true });
  await changeManifest(target, (manifest) => ({ ...manifest, id: NAME }));
}

/** Checks every file that a service would find. @returns the packages' versions */
async function wholePackages(folder: string, where: string): Promise<readonly ("whole" | "older")[]> {
  const found = await findPackages(folder);
  for (const each of found) {
    for (const { path, fault } of await verifyPackage(each))
      assert.equal(fault, null, `${where}: ${path} ${fault}`);
  }
  return found.map(({ manifest }) => (manifest.family === "gigaam-ctc" ? "whole" : "older"));
}
