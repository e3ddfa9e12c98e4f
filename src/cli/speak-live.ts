import type { SpeakOptions } from "../client/client.js";
import type { DauysClient } from "../client/node.js";
import type { SpeechRequest, SpeechUsage } from "../client/speech-types.js";
import { CommandError, type CommandInput, printNote } from "./command.js";
import { clock, withProgress } from "./progress.js";
import { pcmOf, wavHeader } from "./wav-frames.js";

export type SpokenFormat = Pick<SpeakOptions, "encoding" | "sampleRateHz">;

export interface SpeechCall {
  readonly input: CommandInput;
  /** Format of the samples; live speech is always 16-bit PCM. */
  readonly format: SpokenFormat;
  /** Receives parts as they arrive: first a WAV header of unknown length, then samples. */
  readonly onPart: (part: Uint8Array) => Promise<void>;
  readonly signal: AbortSignal;
}

export interface ReceivedSpeech {
  /** The complete WAV file, whether or not it was streamed. */
  readonly wav: Uint8Array;
  readonly firstAudioMs: number;
  readonly usage: SpeechUsage | null;
}

/** Speaks standard input as it arrives, sentence by sentence. @throws {CommandError} if there is no text */
export async function synthesizeLive(
  client: DauysClient,
  manner: Omit<SpeechRequest, "text">,
  { input, format, onPart, signal }: SpeechCall,
): Promise<ReceivedSpeech> {
  if (process.stdin.isTTY) printNote("speaking each sentence as you type it; press Ctrl-D to finish");
  const startedAtMs = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAtMs);
  let audioSeconds = 0;
  const parts = () => [`speaking, ${clock(elapsedMs())} so far`, `${audioSeconds.toFixed(1)} s of audio`];
  return await withProgress(input, parts, async () => {
    const unread = new AbortController();
    const { sampleRateHz } = format;
    const ended = AbortSignal.any([signal, unread.signal]);
    const speech = client.speakLive({ ...manner, sampleRateHz, signal: ended });
    const writing = writeInput((text) => speech.write(text)).then(() => speech.close());
    // If standard input cannot be read, this ends the loop.
    writing.catch((error: unknown) => unread.abort(error));
    const pcm: Uint8Array[] = [];
    let firstAudioMs = Number.NaN;
    let rateHz = 0;
    for await (const frame of speech) {
      if (pcm.length === 0) {
        firstAudioMs = elapsedMs();
        rateHz = frame.sampleRateHz;
        await onPart(wavHeader(rateHz, null));
      }
      pcm.push(pcmOf(frame.wav));
      audioSeconds += frame.durationSeconds;
      await onPart(pcm.at(-1)!);
    }
    const { characters, creditsCharged } = await writing;
    if (pcm.length === 0) throw new CommandError("standard input has nothing to speak; expected text");
    const bytes = pcm.reduce((sum, { length }) => sum + length, 0);
    const usage = { characters, creditsCharged, requestId: null, model: null };
    return { wav: Buffer.concat([wavHeader(rateHz, bytes), ...pcm]), firstAudioMs, usage };
  });
}

/** Passes on the text of standard input as it arrives, no faster than the service accepts it. */
async function writeInput(write: (text: string) => Promise<void>): Promise<void> {
  // A character may be split between two chunks, and a file may start with a byte order mark.
  const decoder = new TextDecoder("utf-8");
  for await (const bytes of process.stdin) await write(decoder.decode(bytes as Buffer, { stream: true }));
  await write(decoder.decode());
}
