// Entry of the decoder process of `wasmDecoder`. Its arguments are codec, source, target, seconds, and `mix`
// or `split`. Any exception makes it fail.
import { open } from "node:fs/promises";
import { MPEGDecoder } from "mpg123-decoder";
import { toInt16 } from "../../../core/domain/audio/pcm.js";
import { writeWav } from "../../../core/domain/audio/wav.js";
import { FlacStream } from "./flac-stream.js";
import { OpusStream } from "./opus-stream.js";

export type WasmCodec = "mp3" | "flac" | "opus";

interface Decoded {
  readonly channelData: readonly Float32Array[];
  readonly samplesDecoded: number;
  readonly sampleRate: number;
}

interface StreamDecoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Promise<readonly Decoded[]>;
  flush(): Promise<readonly Decoded[]>;
}

const READ_BYTES = 1 << 16;
const WAV_HEADER_BYTES = 44;
const NO_SAMPLES = new Int16Array(0);

const [codec, sourcePath, targetPath, seconds, channels] = process.argv.slice(2);
await decodeFile(decoderOf(codec as WasmCodec), sourcePath!, targetPath!, Number(seconds));

async function decodeFile(
  decoder: StreamDecoder,
  source: string,
  target: string,
  maxSeconds: number,
): Promise<void> {
  await decoder.ready;
  const input = await open(source, "r");
  const output = await open(target, "wx", 0o600);
  let rateHz = 0;
  let sampleCount = 0;
  let channelCount = 1;
  const keep = async (decoded: Decoded) => {
    if (decoded.samplesDecoded === 0) return;
    if (rateHz === 0) {
      rateHz = decoded.sampleRate;
      if (channels === "split") channelCount = decoded.channelData.length;
    }
    const pcm = toInt16(channelCount === 1 ? mixedDown(decoded) : interleaved(decoded, channelCount));
    const bytes = new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength);
    // A full disk may accept only part of a write.
    for (let start = 0; start < bytes.length; ) {
      const at = WAV_HEADER_BYTES + 2 * channelCount * sampleCount + start;
      start += (await output.write(bytes, start, bytes.length - start, at)).bytesWritten;
    }
    sampleCount += decoded.samplesDecoded;
  };
  for await (const bytes of input.createReadStream({ highWaterMark: READ_BYTES })) {
    for (const decoded of await decoder.decode(bytes as Uint8Array)) await keep(decoded);
    if (rateHz > 0 && sampleCount > maxSeconds * rateHz) break;
  }
  for (const decoded of await decoder.flush()) await keep(decoded);
  if (rateHz === 0) throw new Error("no sample could be decoded");
  await output.write(wavHeader(sampleCount, rateHz, channelCount), 0, WAV_HEADER_BYTES, 0);
  await output.close();
}

function decoderOf(name: WasmCodec): StreamDecoder {
  if (name === "mp3") {
    const decoder = new MPEGDecoder();
    return { ready: decoder.ready, decode: async (bytes) => [decoder.decode(bytes)], flush: async () => [] };
  }
  const stream = name === "flac" ? new FlacStream() : new OpusStream();
  return {
    ready: Promise.resolve(),
    decode: async (bytes) => stream.push(bytes),
    flush: async () => stream.end(),
  };
}

function mixedDown({ channelData, samplesDecoded }: Decoded): Float32Array {
  const mono = new Float32Array(samplesDecoded);
  for (const channel of channelData) {
    for (let i = 0; i < samplesDecoded; i++) mono[i] = mono[i]! + channel[i]! / channelData.length;
  }
  return mono;
}

/** If a frame has fewer channels than the first frame, its first channel is repeated. */
function interleaved({ channelData, samplesDecoded }: Decoded, channelCount: number): Float32Array {
  const samples = new Float32Array(samplesDecoded * channelCount);
  for (let channel = 0; channel < channelCount; channel++) {
    const own = channelData[channel] ?? channelData[0]!;
    for (let i = 0; i < samplesDecoded; i++) samples[i * channelCount + channel] = own[i]!;
  }
  return samples;
}

function wavHeader(sampleCount: number, rateHz: number, channelCount: number): Uint8Array {
  const header = writeWav(NO_SAMPLES, rateHz);
  const view = new DataView(header.buffer);
  const dataBytes = 2 * channelCount * sampleCount;
  view.setUint32(4, 36 + dataBytes, true);
  view.setUint16(22, channelCount, true);
  view.setUint32(28, 2 * channelCount * rateHz, true);
  view.setUint16(32, 2 * channelCount, true);
  view.setUint32(40, dataBytes, true);
  return header;
}
