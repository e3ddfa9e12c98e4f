import { parseWavHeader } from "../../core/domain/audio/wav.js";
import { takeWords, WavFrameReader } from "../../core/protocol/wav-frames.js";
import { ConnectionError, DauysError } from "./errors.js";
import type { OpenResponse } from "./requester.js";
import type { Speech, SpeechFrame, SpeechUsage, SpeechWord } from "./speech-types.js";

/** Reads a response of `/v1/tts`. */
export async function readSpeech(response: OpenResponse): Promise<Speech> {
  const wav = await response.bytes();
  return { wav, ...soundOf(wav), usage: usageOf(response) };
}

/** Reads a response of `/v1/tts?timestamps=true`. */
export async function readTimedSpeech(response: OpenResponse): Promise<Speech> {
  const { audio, words } = (await response.json()) as {
    readonly audio?: unknown;
    readonly words?: readonly SpeechWord[];
  };
  if (typeof audio !== "string" || !Array.isArray(words)) {
    throw new DauysError("bad_answer", "the response has no word times; the service may be too old for them");
  }
  const wav = fromBase64(audio);
  return { wav, ...soundOf(wav), words, usage: usageOf(response) };
}

/**
 * Reads a response of `/v1/tts/stream` sentence by sentence.
 *
 * @throws {ConnectionError} if the response ends within a sentence
 */
export async function* readSpeechFrames(response: OpenResponse): AsyncGenerator<SpeechFrame> {
  const reader = new WavFrameReader();
  const usage = usageOf(response);
  let sequence = 0;
  let startSeconds = 0;
  for await (const chunk of response.chunks()) {
    for (const bytes of reader.push(chunk)) {
      const timed = takeWords(bytes);
      const wav = timed?.wav ?? new Uint8Array(bytes);
      const sound = soundOf(wav);
      yield { sequence, wav, startSeconds, ...sound, ...(timed !== null && { words: timed.words }), usage };
      sequence++;
      startSeconds += sound.durationSeconds;
    }
  }
  if (!reader.isAtBoundary) throw new ConnectionError("the audio ended in the middle of a sentence");
}

function soundOf(wav: Uint8Array): { readonly sampleRateHz: number; readonly durationSeconds: number } {
  const header = headerOf(wav);
  const bytes = header.dataBytes ?? wav.length - header.dataOffset;
  return {
    sampleRateHz: header.sampleRateHz,
    durationSeconds: bytes / header.blockBytes / header.sampleRateHz,
  };
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

function headerOf(wav: Uint8Array) {
  try {
    const header = parseWavHeader(wav, wav.length);
    if (header !== null) return header;
  } catch (error) {
    throw new DauysError("bad_answer", "the response is not a WAV; check the service address", {
      cause: error,
    });
  }
  throw new DauysError("bad_answer", "the response is an incomplete WAV; try again");
}

function usageOf(response: OpenResponse): SpeechUsage {
  return {
    requestId: response.requestId,
    characters: numberIn(response.header("x-svc-chars")),
    creditsCharged: numberIn(response.header("x-svc-credits")),
    model: response.header("x-svc-model"),
  };
}

function numberIn(value: string | null): number | null {
  return value !== null && /^\d+$/.test(value) ? Number(value) : null;
}
