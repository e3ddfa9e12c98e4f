import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { writeWav } from "../../../core/domain/audio/wav.js";
import type { AudioDecoder } from "../../../core/ports/audio-decoder.js";
import { openDecoder } from "../../../src/input/media/file-decoder.js";
import type { FlacFrame } from "../../../src/input/media/flac-frame.js";
import { FlacStream } from "../../../src/input/media/flac-stream.js";
import { temporaryFolder } from "../../support/folders.js";
import { SILENT } from "../../support/silent-log.js";
import { ffmpeg } from "./clips.js";

const NEVER = new AbortController().signal;
const WAV_HEADER_BYTES = 44;
/** Lengths around block boundaries, of which 4,608 and 4,096 are usual, and a length below one block. */
const LENGTHS = [1_700, 4_096, 4_097, 4_608, 4_609, 20_011, 32_480];
const CHUNK_BYTES = [7, 1_000, 65_536];

interface Sound {
  readonly pcm: Int16Array;
  readonly rateHz: number;
  /** The extension of the encoded file. */
  readonly ending: string;
  readonly options: readonly string[];
  readonly encoded: (file: Buffer) => void;
}

/**
 * Encodes the files of the tests below in one run of ffmpeg, because starting it takes nearly all of the
 * time.
 */
const sounds: Sound[] = [];
let folder: string;
let decoder: AudioDecoder;
let made = 0;

before(async () => {
  folder = await temporaryFolder();
  decoder = openDecoder({ searchPath: "", maxSeconds: 60, log: SILENT });
  const inputs: string[] = [];
  const outputs: string[] = [];
  for (const [index, { pcm, rateHz, ending, options }] of sounds.entries()) {
    const path = join(folder, `sound-${index}`);
    await writeFile(`${path}.wav`, writeWav(pcm, rateHz));
    inputs.push("-i", `${path}.wav`);
    outputs.push("-map", `${index}:a`, ...options, `${path}.${ending}`);
  }
  await ffmpeg([...inputs, ...outputs]);
  for (const [index, { ending, encoded }] of sounds.entries())
    encoded(await readFile(join(folder, `sound-${index}.${ending}`)));
});

describe("without ffmpeg, a FLAC file decodes to exactly the samples it was encoded from", () => {
  for (const length of LENGTHS) {
    const pcm = sound(length);
    const flac = encoded(pcm, 16_000, "flac", ["-c:a", "flac"]);
    test(`${length} samples`, async () => {
      assert.deepEqual(await decoded(await flac), { pcm, rateHz: 16_000 });
    });
  }

  const tagged = sound(9_217);
  const taggedFile = encoded(tagged, 44_100, "flac", ["-c:a", "flac"]);
  test("with tags before it, a picture in it, and a tag or noise after it", async () => {
    const flac = await taggedFile;
    const id3 = Buffer.concat([Buffer.from("ID3\x04\0\0\0\0\x01\0", "latin1"), Buffer.alloc(128, 0xff)]);
    const tag = Buffer.concat([Buffer.from("TAG"), Buffer.alloc(125, 0x20)]);
    // The picture follows the stream's header, as a block of type 6 whose bytes resemble frame headers.
    const picture = Buffer.concat([
      Buffer.from([6, 0, 4, 0]),
      Buffer.alloc(1_024, Buffer.from([0xff, 0xf8])),
    ]);
    const withPicture = Buffer.concat([flac.subarray(0, 42), picture, flac.subarray(42)]);
    const noise = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 7_919 + (i >> 3) * 31) & 0xff));
    const files = { id3: [id3, flac], tag: [flac, tag], picture: [withPicture], noise: [flac, noise] };
    for (const [name, parts] of Object.entries(files)) {
      assert.deepEqual(await decoded(Buffer.concat(parts)), { pcm: tagged, rateHz: 44_100 }, name);
    }
  });

  const choices = [[], ["-frame_size", "256"], ["-compression_level", "12"]];
  const cases = [8_000, 22_050, 48_000]
    .flatMap((rateHz) => choices.map((options) => ({ rateHz, options })))
    .map(({ rateHz, options }, index) => {
      const pcm = sound(5_003 + 256 * index);
      return { rateHz, pcm, file: encoded(pcm, rateHz, "flac", ["-c:a", "flac", ...options]) };
    });
  test("of 8 to 48 kHz, in any chunking, with blocks of any length, and without a length in its header", async () => {
    for (const [index, { rateHz, pcm, file }] of cases.entries()) {
      const flac = await file;
      // These 36 bits hold the number of samples; zero means unknown.
      if (index % 2 === 1) flac.fill(0, 22, 26);
      for (const chunkBytes of CHUNK_BYTES) {
        const { channels, rate } = streamed(flac, chunkBytes);
        assert.equal(rate, rateHz);
        assert.deepEqual(
          channels[0]!.map((sample) => sample * 32_768),
          [...pcm],
        );
      }
    }
  });

  test("of two channels and of 24 bits", async () => {
    const frames = 6_151;
    const depths = [{ codec: "s16", bytes: 2 } as const, { codec: "s32", bytes: 3 } as const];
    const path = (codec: string, ending: string) => join(folder, `stereo-${codec}.${ending}`);
    const source = "aevalsrc=0.9*sin(t*2764)|0.5*sin(t*911)+0.3*sin(t*90):d=1:s=44100";
    const waves = depths.flatMap(({ codec, bytes }) => [
      ...["-af", `atrim=end_sample=${frames}`, "-c:a", `pcm_s${8 * bytes}le`, path(codec, "wav")],
    ]);
    await ffmpeg(["-f", "lavfi", "-i", source, ...waves]);
    await ffmpeg([
      ...depths.flatMap(({ codec }) => ["-i", path(codec, "wav")]),
      ...depths.flatMap(({ codec }, index) => [
        ...["-map", `${index}:a`, "-c:a", "flac", "-sample_fmt", codec, path(codec, "flac")],
      ]),
    ]);
    for (const { codec, bytes } of depths) {
      const written = await readFile(path(codec, "wav"));
      const data = written.subarray(written.indexOf("data") + 8);
      const { channels } = streamed(await readFile(path(codec, "flac")), 4_099);
      for (const channel of [0, 1]) {
        const expected = Array.from({ length: frames }, (_, i) =>
          data.readIntLE((2 * i + channel) * bytes, bytes),
        );
        const heard = channels[channel]!.map((sample) => sample * 2 ** (8 * bytes - 1));
        assert.deepEqual(heard, expected);
      }
    }
  });

  const whole = encoded(sound(20_000), 16_000, "flac", ["-c:a", "flac", "-frame_size", "1000"]);
  test("only a damaged block is missing", async () => {
    const flac = await whole;
    flac[Math.round(flac.length / 2)]! ^= 0x10;
    const { pcm: heard } = await decoded(flac);
    assert.equal(heard.length, 19_000);
  });
});

describe("without ffmpeg, a decoded Ogg Opus file is as long as its source", () => {
  const opus = (samples: number) => encoded(sound(samples), 48_000, "ogg", ["-c:a", "libopus"]);

  for (const samples of [700, 30_037, 96_960]) {
    const file = opus(samples);
    test(`${samples} samples, less the encoder's lead and the end of the last packet`, async () => {
      assert.equal((await decoded(await file)).pcm.length, samples);
    });
  }

  const chained = [opus(30_037), opus(12_345)];
  test("chained streams are joined; noise after them is ignored", async () => {
    const parts = [...(await Promise.all(chained)), Buffer.alloc(5_000, 7)];
    assert.equal((await decoded(Buffer.concat(parts))).pcm.length, 30_037 + 12_345);
  });

  const paged = encoded(sound(96_000), 48_000, "ogg", ["-c:a", "libopus", "-page_duration", "60000"]);
  test("a truncated file gives its complete packets", async () => {
    const whole = await paged;
    const { pcm } = await decoded(whole.subarray(0, whole.length - 100));
    assert.ok(pcm.length > 90_000 && pcm.length < 96_000, `${pcm.length} samples`);
  });
});

const mp3s = [5_000, 30_037].map((samples) => {
  const file = encoded(sound(samples), 16_000, "mp3", ["-c:a", "libmp3lame", "-b:a", "64k"]);
  return { samples, file };
});
test("without ffmpeg, a decoded MP3 that states its encoder's padding is as long as its source", async () => {
  for (const { samples, file } of mp3s) assert.equal((await decoded(await file)).pcm.length, samples);
});

/** A tone with noise up to full scale. The same length always gives the same samples. */
function sound(samples: number): Int16Array {
  let state = samples;
  return Int16Array.from({ length: samples }, (_, i) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.round(Math.sin(i / 9) * 30_000 + (state / 2 ** 31 - 0.5) * 5_000);
  });
}

/** Settles before the tests run. Called where they are declared. */
function encoded(
  pcm: Int16Array,
  rateHz: number,
  ending: string,
  options: readonly string[],
): Promise<Buffer> {
  return new Promise((resolve) => sounds.push({ pcm, rateHz, ending, options, encoded: resolve }));
}

/** Decodes with the service's own decoder, in a separate process. */
async function decoded(file: Uint8Array): Promise<{ readonly pcm: Int16Array; readonly rateHz: number }> {
  const source = join(folder, `${made++}`);
  await writeFile(source, file);
  const wav = await readFile(await decoder.decode(source, `${source}.wav`, NEVER));
  const data = wav.subarray(WAV_HEADER_BYTES);
  const pcm = Int16Array.from({ length: data.length / 2 }, (_, i) => data.readInt16LE(2 * i));
  return { pcm, rateHz: wav.readUInt32LE(24) };
}

/** Returns the samples of each channel of a file that arrives in chunks. */
function streamed(
  file: Uint8Array,
  chunkBytes: number,
): { readonly channels: number[][]; readonly rate: number } {
  const stream = new FlacStream();
  const frames: FlacFrame[] = [];
  for (let at = 0; at < file.length; at += chunkBytes)
    frames.push(...stream.push(file.subarray(at, at + chunkBytes)));
  frames.push(...stream.end());
  const channels = frames[0]!.channelData.map((_, i) =>
    frames.flatMap((frame) => [...frame.channelData[i]!]),
  );
  return { channels, rate: frames[0]!.sampleRate };
}
