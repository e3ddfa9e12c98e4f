// A voice agent of LiveKit's plugins, without a room: hears PCM from standard input (16-bit little-endian,
// mono, 16 kHz) and writes its answers to a file (24 kHz): node agent.mjs FILE
import { createWriteStream } from "node:fs";
import { initializeLogger, stt, tts } from "@livekit/agents";
import * as deepgram from "@livekit/agents-plugin-deepgram";
import { AudioFrame } from "@livekit/rtc-node";

const base = process.env.DAUYS_URL ?? "http://127.0.0.1:8080";
const apiKey = process.env.DAUYS_API_KEY;
initializeLogger({ pretty: false, level: "warn" });

const listener = new deepgram.STTv2({
  apiKey,
  endpointUrl: `${base.replace(/^http/, "ws")}/v2/listen`,
  eotThreshold: 0.5,
}).stream();
const voice = new deepgram.TTS({ apiKey, baseUrl: base, model: "aigul" });
const file = createWriteStream(process.argv[2] ?? "answers.pcm");
let answer = null;

/** Stands for a language model: yields the answer piece by piece. */
async function* think(text) {
  for (const word of `Сіз айттыңыз: ${text}. Тағы не айтасыз?`.split(/(?= )/)) yield word;
}

async function say(text) {
  const speech = voice.stream();
  answer = speech;
  for await (const piece of think(text)) speech.pushText(piece);
  speech.endInput();
  for await (const audio of speech)
    if (audio !== tts.SynthesizeStream.END_OF_STREAM) file.write(audio.frame.data);
}

process.stdin.on("data", (bytes) => {
  const samples = new Int16Array(new Uint8Array(bytes).buffer);
  listener.pushFrame(new AudioFrame(samples, 16_000, 1, samples.length));
});
process.stdin.on("end", () => listener.endInput());

let saying = Promise.resolve();
for await (const { type, alternatives } of listener) {
  // The speaker interrupts: the rest of the answer is neither spoken nor charged.
  if (type === stt.SpeechEventType.START_OF_SPEECH) answer?.close();
  if (type !== stt.SpeechEventType.FINAL_TRANSCRIPT) continue;
  console.log(alternatives[0].text);
  saying = say(alternatives[0].text);
}
await saying;
file.end();
