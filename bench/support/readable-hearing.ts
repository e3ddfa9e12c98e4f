import { littleEndianBytes } from "../../core/domain/audio/pcm.js";
import { riffChunk } from "../../core/domain/audio/wav-chunks.js";
import { DauysClient } from "../../src/client/node.js";
import type { DisplayWord, TimedWord } from "../../src/client/transcription-types.js";
import { runLive } from "./live-client.js";
import type { ServiceProcess } from "./service-process.js";
import { SAMPLE_RATE_HZ } from "./spoken-stream.js";

/** A text that the service recognised, as a file and live. */
export interface HeardText {
  readonly set: string;
  readonly lines: readonly string[];
  readonly words: readonly TimedWord[];
  readonly displayText: string;
  readonly displayWords: readonly DisplayWord[];
  readonly live: LiveText | null;
}

interface LiveText {
  /** Texts of the finals, as recognised. */
  readonly said: string;
  /** `display_before`, `display_text` and `display_end`, joined. */
  readonly displayText: string;
  readonly finals: number;
}

const MESSAGE_SAMPLES = 3_200;

export async function hearFile(service: ServiceProcess, pcm: Int16Array) {
  const client = new DauysClient({ baseUrl: service.url, apiKey: service.key });
  const heard = await client.transcribe(wavOf(pcm), { display: true, timestamps: true });
  return {
    words: heard.words ?? [],
    displayText: heard.display_text ?? "",
    displayWords: heard.display_words ?? [],
  };
}

export async function hearLive(service: ServiceProcess, pcm: Int16Array): Promise<LiveText> {
  const run = await runLive({
    url: service.url,
    key: service.key,
    pcm,
    messageSamples: MESSAGE_SAMPLES,
    isPaced: false,
    query: "?display=true&partials=false",
  });
  let [displayText, finals] = ["", 0];
  const said: string[] = [];
  for (const { message } of run.received) {
    if (message.type === "done") displayText += message.display_end ?? "";
    if (message.type !== "final" || message.text === "") continue;
    finals++;
    said.push(message.text);
    displayText += `${message.display_before ?? ""}${message.display_text ?? ""}`;
  }
  return { said: said.join(" "), displayText, finals };
}

function wavOf(pcm: Int16Array): Uint8Array {
  const format = new DataView(new ArrayBuffer(16));
  format.setUint16(0, 1, true);
  format.setUint16(2, 1, true);
  format.setUint32(4, SAMPLE_RATE_HZ, true);
  format.setUint32(8, 2 * SAMPLE_RATE_HZ, true);
  format.setUint16(12, 2, true);
  format.setUint16(14, 16, true);
  const wave = new TextEncoder().encode("WAVE");
  const chunks = [
    riffChunk("fmt ", new Uint8Array(format.buffer)),
    riffChunk("data", littleEndianBytes(pcm)),
  ];
  return riffChunk("RIFF", Buffer.concat([wave, ...chunks]));
}
