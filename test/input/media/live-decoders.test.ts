import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ServiceError } from "../../../core/domain/errors.js";
import type { StreamDecoder, StreamedForm } from "../../../core/ports/stream-decoder.js";
import { type DecoderFailure, LiveDecoders } from "../../../src/input/media/live-decoders.js";
import { OggPages } from "../../../src/input/media/ogg-pages.js";
import { PagePackets } from "../../../src/input/media/opus-stream.js";
import { joined, silence, speech, wavOf } from "../../support/audio.js";
import { type Deferred, deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { temporaryFolder } from "../../support/folders.js";
import { SILENT } from "../../support/silent-log.js";
import { ffmpeg } from "./clips.js";
import { liveDecodersOf } from "./processes.js";

/** The length is a multiple neither of a codec frame nor of a page. */
const SOURCE = joined(speech("asterisk-ru-core/vm-Cust2.flac"), silence(0.311));
const MIB = 1 << 20;

let folder = "";
let webm: Buffer;
let ogg: Buffer;
let stereo: Buffer;
let vorbis: Buffer;
let video: Buffer;
const failures: DecoderFailure[] = [];
const observer = { running: () => {}, failed: (reason: DecoderFailure) => void failures.push(reason) };
const decoders = new LiveDecoders({ limit: 4, log: SILENT, observer });

before(async () => {
  folder = await temporaryFolder();
  const wav = join(folder, "source.wav");
  await writeFile(wav, wavOf(SOURCE, 16_000, 1));
  const opus = ["-map", "0:a", "-c:a", "libopus", "-b:a", "32k"];
  await ffmpeg([
    ...["-i", wav, "-f", "lavfi", "-i", "testsrc=s=64x64:r=5"],
    // Live WebM has clusters of unknown size, as recorded by browsers.
    ...[...opus, "-f", "webm", "-live", "1", join(folder, "a.webm")],
    ...[...opus, "-page_duration", "60000", join(folder, "a.ogg")],
    ...[...opus, "-ac", "2", join(folder, "stereo.webm")],
    ...["-map", "0:a", "-c:a", "libvorbis", join(folder, "vorbis.webm")],
    ...[
      "-map",
      "1:v",
      "-map",
      "0:a",
      "-c:v",
      "libvpx",
      "-c:a",
      "libopus",
      "-shortest",
      join(folder, "v.webm"),
    ],
  ]);
  const made = ["a.webm", "a.ogg", "stereo.webm", "vorbis.webm", "v.webm"].map((name) =>
    readFile(join(folder, name)),
  );
  [webm, ogg, stereo, vorbis, video] = (await Promise.all(made)) as [Buffer, Buffer, Buffer, Buffer, Buffer];
});
after(() => decoders.close());

interface Decoding {
  readonly decoder: StreamDecoder;
  readonly pcm: Buffer[];
  readonly ending: Deferred<ServiceError>;
}

function begin(form: StreamedForm, { owner = "org", from = decoders } = {}): Decoding {
  const pcm: Buffer[] = [];
  const ending = deferred<ServiceError>();
  const decoder = from.open(owner, form, {
    pcm: (bytes) => void pcm.push(Buffer.from(bytes)),
    failed: (error) => ending.resolve(error),
  });
  return { decoder, pcm, ending };
}

/** Returns the decoded samples of messages. @throws {ServiceError} */
async function decoded(form: StreamedForm, messages: readonly Uint8Array[]): Promise<Int16Array> {
  const { decoder, pcm, ending } = begin(form);
  for (const message of messages) decoder.push(message);
  const done = deferred<null>();
  decoder.mark(() => done.resolve(null));
  const error = await Promise.race([done.promise, ending.promise]);
  decoder.close();
  if (error !== null) throw error;
  const whole = Uint8Array.from(Buffer.concat(pcm));
  return new Int16Array(whole.buffer);
}

function cutBytes(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += sizes[(pieces.length - 1) % sizes.length]!)
    pieces.push(bytes.subarray(at, at + sizes[pieces.length % sizes.length]!));
  return pieces;
}

/** The correlation of two recordings of about the same length. */
function likeness(a: Int16Array, b: Int16Array): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    ab += a[i]! * b[i]!;
    aa += a[i]! ** 2;
    bb += b[i]! ** 2;
  }
  return ab / Math.sqrt(aa * bb);
}

function packetsOf(file: Uint8Array): Uint8Array[] {
  const packets = new PagePackets();
  return new OggPages().push(file).flatMap((page) => packets.of(page));
}

describe("live decoders", { concurrency: 1 }, () => {
  test("Ogg decodes to as many samples as were encoded, and they sound the same", async () => {
    const samples = await decoded("ogg", [ogg]);
    assert.equal(samples.length, SOURCE.length);
    assert.ok(likeness(samples, SOURCE) > 0.9, String(likeness(samples, SOURCE)));
  });

  for (const [name, file] of [
    ["live WebM", () => webm],
    ["stereo WebM", () => stereo],
    ["WebM with video", () => video],
  ] as const) {
    test(`${name} decodes to the same sound, at most a packet longer`, async () => {
      const samples = await decoded("webm", [file()]);
      const surplus = samples.length - SOURCE.length;
      assert.ok(surplus >= 0 && surplus <= 960, String(surplus));
      assert.ok(likeness(samples, SOURCE) > 0.9, String(likeness(samples, SOURCE)));
    });
  }

  test("samples do not depend on the chunks that the bytes arrive in", async () => {
    for (const [form, file] of [
      ["webm", webm],
      ["ogg", ogg],
    ] as const) {
      const whole = await decoded(form, [file]);
      for (const sizes of [[1], [7, 1, 300], [4_096]])
        assert.deepEqual(await decoded(form, cutBytes(file, sizes)), whole, `${form} in ${sizes}`);
    }
  });

  test("bare packets decode like those of their Ogg file, except for its start and end", async () => {
    const samples = await decoded("opus", packetsOf(ogg));
    const inOgg = await decoded("ogg", [ogg]);
    // The pre-skip is 312 samples at 48 kHz.
    assert.deepEqual(samples.subarray(104, 104 + inOgg.length), inOgg);
  });

  test("a recorder that starts again in the same stream is decoded from there on", async () => {
    for (const [form, file] of [
      ["webm", webm],
      ["ogg", ogg],
    ] as const) {
      const once = await decoded(form, [file]);
      assert.deepEqual(await decoded(form, [file, file]), joined(once, once));
    }
  });

  test("hostile and damaged streams end with a clear error, within the limits of the process", async () => {
    const head = webm.subarray(0, 300);
    const top = webm.subarray(0, webm.indexOf(Buffer.from("18538067", "hex")) + 12);
    const cluster = webm.indexOf(Buffer.from("1f43b675", "hex"));
    const junk = Buffer.alloc(MIB, Buffer.from("no page here "));
    const otherPage = (flags: number) =>
      Buffer.concat([Buffer.from("OggS"), Buffer.from([0, flags]), Buffer.alloc(20), Buffer.from([1, 1, 1])]);
    const cases: readonly [string, StreamedForm, readonly Uint8Array[], RegExp][] = [
      [
        "another codec",
        "webm",
        [vorbis],
        /^UNSUPPORTED_FORMAT live WebM must have an Opus track, received A_VORBIS$/,
      ],
      ["no tracks", "webm", [top, webm.subarray(cluster)], /received no codec$/],
      [
        "random bytes after a good header",
        "webm",
        [head, Buffer.alloc(5_000)],
        /^AUDIO_UNREADABLE .*invalid element$/,
      ],
      [
        "an endless void",
        "webm",
        [top, Buffer.from("ec01fffffffffffffe", "hex"), junk, junk],
        /no intact Opus packet$/,
      ],
      [
        "a huge block",
        "webm",
        [webm.subarray(0, cluster), Buffer.from("1f43b675ffa318ffffff81000080", "hex"), junk],
        /audio block is too long$/,
      ],
      [
        "thousands of tracks",
        "webm",
        [top, Buffer.alloc(200_000, Buffer.from("ae80", "hex"))],
        /too many tracks$/,
      ],
      ["no Opus in Ogg", "ogg", [otherPage(2), otherPage(0)], /received other codecs$/],
      ["a header and noise", "ogg", [ogg.subarray(0, 200), junk, junk, junk], /no intact Opus packet$/],
      [
        "packets of noise",
        "opus",
        Array.from({ length: 300 }, () => Buffer.alloc(4_000, 0xff)),
        /no intact Opus packet$/,
      ],
    ];
    for (const [name, form, messages, expected] of cases) {
      await assert.rejects(
        decoded(form, messages),
        (error) => {
          assert.ok(error instanceof ServiceError);
          assert.match(`${error.code} ${error.message}`, expected, name);
          return true;
        },
        name,
      );
    }
    await eventually("all have ended", () => decoders.running === 0);
  });

  test("a bomb of tiny packets costs its process bounded memory", async () => {
    // Two bytes contain 48 silent frames of 2.5 ms, so a message of one mebibyte would contain 17 hours.
    const packet = Buffer.from([0x83, 48]);
    const lacing = Buffer.alloc(255, packet.length);
    const page = Buffer.concat([Buffer.from("OggS"), Buffer.alloc(22), Buffer.from([255]), lacing]);
    ogg.copy(page, 14, 14, 18);
    const pages = Array.from({ length: 60 }, () => Buffer.concat([page, Buffer.alloc(510, packet)]));
    const { decoder, ending } = begin("ogg");
    decoder.push(ogg.subarray(0, ogg.indexOf("OggS", 4)));
    decoder.push(Buffer.concat(pages));
    let peakKib = 0;
    const done = deferred<null>();
    decoder.mark(() => done.resolve(null));
    const pid = await decoderPid();
    peakKib = await residentKib(pid);
    assert.equal(await Promise.race([done.promise, ending.promise]), null);
    peakKib = Math.max(peakKib, await residentKib(pid));
    decoder.close();
    assert.ok(peakKib < 256 * 1_024, `${peakKib} KiB`);
  });

  test("a killed decoder is reported once, and frees its place", async () => {
    const { decoder, ending } = begin("ogg");
    decoder.push(ogg.subarray(0, 1_000));
    process.kill(await decoderPid(), "SIGKILL");
    const { code, message } = await ending.promise;
    assert.deepEqual(
      [code, message],
      ["WORKER_LOST", "the decoder of this audio has ended; open another session"],
    );
    await eventually("its place is free", () => decoders.running === 0);
    assert.equal(failures.at(-1), "lost");
    decoder.push(ogg);
    decoder.mark(() => assert.fail("a lost decoder decodes nothing"));
    decoder.close();
  });

  test("a decoder that breaks the protocol is ended", async () => {
    const program = fileURLToPath(new URL("./babbling-decoder.js", import.meta.url));
    const from = new LiveDecoders({ limit: 2, log: SILENT, observer, program });
    const { code } = await begin("ogg", { from }).ending.promise;
    assert.equal(code, "WORKER_LOST");
    await eventually("it has ended", () => from.running === 0);
  });

  test("the bytes that no decoder has read yet are limited", async () => {
    const { decoder, ending } = begin("webm");
    for (let i = 0; i < 5; i++) decoder.push(Buffer.alloc(MIB));
    assert.equal((await ending.promise).code, "TOO_FAST");
    await eventually("its place is free", () => decoders.running === 0);
  });

  test("an organization has half of the places, and all of them end with their owners", async () => {
    const own = [begin("webm"), begin("ogg")];
    assert.throws(() => begin("ogg"), { code: "TOO_MANY_REQUESTS", message: /at most 2 live sessions/ });
    const others = [begin("webm", { owner: "other" }), begin("webm", { owner: "third" })];
    assert.throws(() => begin("ogg", { owner: "fourth" }), { code: "ENGINE_BUSY", message: /at most 4/ });
    for (const { decoder } of [...own, ...others]) decoder.close();
    await eventually(
      "all have ended",
      () => decoders.running === 0 && liveDecodersOf(process.pid).length === 0,
    );
    begin("ogg").decoder.close();
  });
});

/** Returns the process ID of the only decoder once it has started. */
async function decoderPid(): Promise<number> {
  await eventually("a decoder runs", () => liveDecodersOf(process.pid).length === 1);
  return liveDecodersOf(process.pid)[0]!.pid;
}

async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "latin1");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
}
