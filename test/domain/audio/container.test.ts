import assert from "node:assert/strict";
import { test } from "node:test";
import { detectContainer, id3Bytes, isOggOpus } from "../../../core/domain/audio/container.js";
import * as fc from "../../support/properties.js";

const SIGNATURES = {
  "RIFF\0\0\0\0WAVEfmt ": "wav",
  "RF64\xff\xff\xff\xffWAVEds64": "wav",
  "RIFX\0\0\0\0WAVEfmt ": "wav",
  "RIFF\0\0\0\0AVI LIST": null,
  "fLaC\0\0\0\x22": "flac",
  "OggS\0\x02": "ogg",
  "\x1a\x45\xdf\xa3\x9f": "webm",
  "FORM\0\0\0\0AIFFCOMM": "aiff",
  "FORM\0\0\0\0ILBMBMHD": null,
  "caff\0\x01\0\0": "caf",
  "#!AMR\n": "amr",
  ".snd\0\0\0\x18": "au",
  "\0\0\0\x18ftypM4A ": "mp4",
  "\0\0\0\x08wide\0\0": "mp4",
  "#EXTM3U\n#EXTINF:1,\nhttp://a": null,
  "ffconcat version 1.0\nfile 'a'": null,
  "<svg xmlns='http://www.w3.org/2000/svg'>": null,
  "<?xml version='1.0'?><MPD>": null,
  "%PDF-1.7": null,
  "": null,
} as const;

test("containers are detected by their signatures, except files that refer to other files", () => {
  for (const [bytes, container] of Object.entries(SIGNATURES)) {
    assert.equal(detectContainer(Buffer.from(bytes, "latin1")), container, JSON.stringify(bytes));
  }
});

test("MPEG audio is detected by two consecutive frames, with or without padding before them", () => {
  // MPEG-1 layer 3 at 128 kbit/s and 44.1 kHz has frames of 417 bytes, or 418 with the padding bit.
  const frames = Buffer.concat([
    frame([0xff, 0xfb, 0x90, 0x64], 417),
    frame([0xff, 0xfb, 0x92, 0x64], 418),
    frame([0xff, 0xfb, 0x90, 0x64], 417),
  ]);
  assert.equal(detectContainer(frames), "mp3");
  assert.equal(detectContainer(Buffer.concat([Buffer.alloc(1_000), frames])), "mp3");
  assert.equal(detectContainer(frames.subarray(0, 417)), "mp3", "a single frame that is the whole file");
  assert.equal(detectContainer(frames.subarray(0, 400)), null);
  // MPEG-2 layer 3 at 64 kbit/s and 22.05 kHz.
  const half = frame([0xff, 0xf3, 0x80, 0x64], 208);
  assert.equal(detectContainer(Buffer.concat([half, half])), "mp3");
  // ADTS headers contain the length of the frame.
  const adts = frame([0xff, 0xf1, 0x50, 0x80, 0x0c, 0x9f, 0xfc], 100);
  assert.equal(detectContainer(Buffer.concat([adts, adts])), "aac");
});

test("tags before the audio are measured with their footer", () => {
  const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 2, 1]);
  assert.equal(id3Bytes(tag), 10 + 257);
  tag[5] = 0x10;
  assert.equal(id3Bytes(tag), 20 + 257);
  assert.equal(id3Bytes(Buffer.from("fLaC")), 0);
});

test("Opus in Ogg is distinguished from other codecs", () => {
  assert.equal(isOggOpus(Buffer.concat([Buffer.alloc(28), Buffer.from("OpusHead")])), true);
  assert.equal(isOggOpus(Buffer.concat([Buffer.alloc(28), Buffer.from("\x01vorbis")])), false);
});

test("text is never mistaken for audio", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2_000 }), (text) => {
      const container = detectContainer(Buffer.from(`#EXTM3U\n${text}`));
      assert.equal(container, null);
    }),
  );
});

function frame(header: readonly number[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  whole.set(header);
  return whole;
}
