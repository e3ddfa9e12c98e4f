// Entry of the decoder process of `LiveDecoders`. Its argument is the form of the audio. Reads and writes
// frames.
import { LIVE_RATE_HZ } from "../../../core/domain/audio/frame.js";
import { littleEndianBytes, toInt16 } from "../../../core/domain/audio/pcm.js";
import type { StreamedForm } from "../../../core/ports/stream-decoder.js";
import { FRAME, FrameReader, frameOf } from "./decoder-frames.js";
import { type Demuxer, NoOpus, type OpusPart } from "./demuxer.js";
import { LiveOgg } from "./live-ogg.js";
import { LiveWebm } from "./live-webm.js";
import { OpusPackets } from "./opus-packets.js";
import { opusHead } from "./opus-stream.js";

/** The service sends at most one client message at a time. */
const LONGEST_FRAME_BYTES = 1 << 21;
/** Most bytes without a packet: headers, pictures and damage. The pictures of a video are far shorter. */
const MOST_QUIET_BYTES = 1 << 20;
/** About a second of samples, so that a burst of packets does not pile up here. */
const LONGEST_PCM_BYTES = 1 << 15;
/** `OpusHead` of one channel without pre-skip, because bare packets have no header. */
const BARE_HEAD = Buffer.from("4f707573486561640101000080bb0000000000", "hex");

class LiveProcess {
  readonly #demuxer: Demuxer;
  #packets: OpusPackets | null = null;
  #quietBytes = 0;
  #pcm: Uint8Array[] = [];
  #pcmBytes = 0;

  constructor(form: StreamedForm) {
    this.#demuxer = form === "webm" ? new LiveWebm() : form === "ogg" ? new LiveOgg() : bareOpus();
  }

  /** Decodes bytes of the stream. @throws {NoOpus} */
  async decode(bytes: Uint8Array): Promise<void> {
    this.#quietBytes += bytes.length;
    for (const part of this.#demuxer.push(bytes)) {
      if (part.type === "head") await this.#open(part.head);
      else await this.#decodePacket(part);
    }
    if (this.#quietBytes > MOST_QUIET_BYTES) {
      const rule = `cannot decode the audio: ${MOST_QUIET_BYTES} bytes held no intact Opus packet`;
      throw new NoOpus(rule, { isOtherFormat: false });
    }
    await this.#flush();
  }

  async #open(head: Uint8Array): Promise<void> {
    this.#packets?.free();
    this.#packets = null;
    // The demuxers have already checked the header.
    this.#packets = await OpusPackets.open(opusHead(head)!, LIVE_RATE_HZ);
  }

  async #decodePacket({ packet, dropped }: Extract<OpusPart, { type: "packet" }>): Promise<void> {
    const samples = this.#packets?.decode(packet, dropped);
    if (samples === undefined || samples.length === 0) return;
    this.#quietBytes = 0;
    const bytes = littleEndianBytes(toInt16(samples));
    this.#pcm.push(bytes);
    this.#pcmBytes += bytes.length;
    if (this.#pcmBytes >= LONGEST_PCM_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#pcmBytes === 0) return;
    const pcm = Buffer.concat(this.#pcm);
    this.#pcm = [];
    this.#pcmBytes = 0;
    await send(FRAME.audio, pcm);
  }
}

function bareOpus(): Demuxer {
  let hasHead = false;
  return {
    *push(packet) {
      if (!hasHead) yield { type: "head", head: BARE_HEAD };
      hasHead = true;
      yield { type: "packet", packet, dropped: 0 };
    },
  };
}

async function send(kind: number, payload?: Uint8Array): Promise<void> {
  if (process.stdout.write(frameOf(kind, payload))) return;
  await new Promise((resolve) => process.stdout.once("drain", resolve));
}

async function run(live: LiveProcess): Promise<void> {
  const frames = new FrameReader(LONGEST_FRAME_BYTES);
  for await (const bytes of process.stdin) {
    for (const { kind, payload } of frames.push(bytes as Uint8Array)) {
      if (kind === FRAME.audio) await live.decode(payload);
      await send(kind === FRAME.audio ? FRAME.taken : FRAME.mark);
    }
  }
}

// The libopus package would print every damaged packet.
console.error = () => {};
try {
  await run(new LiveProcess(process.argv[2] as StreamedForm));
} catch (thrown) {
  if (!(thrown instanceof NoOpus)) throw thrown;
  const code = thrown.isOtherFormat ? "UNSUPPORTED_FORMAT" : "AUDIO_UNREADABLE";
  await send(FRAME.failed, Buffer.from(JSON.stringify({ code, message: thrown.message })));
}
