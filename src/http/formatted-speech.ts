import { EncodedPcm } from "../../core/domain/audio/encoded-pcm.js";
import type { StreamedFormat } from "../../core/domain/audio/streamed-pcm.js";
import type { WavPiece } from "../../core/domain/audio/wav.js";
import type { SpeechChunk, SynthesisConversation } from "../../core/ports/conversations.js";
import type { SpeechFormat } from "../../core/protocol/speak-query.js";

/** A chunk of speech in the client's format. */
export interface FormattedChunk extends Pick<SpeechChunk, "endsSentence" | "words"> {
  readonly piece: WavPiece;
  /** Number of samples before conversion, in which word times are counted. */
  readonly sampleCount: number;
}

/** A synthesis in the client's format. */
export interface FormattedSpeech {
  readonly encoding: StreamedFormat;
  readonly sampleRateHz: number;
  chunks(): AsyncIterable<FormattedChunk>;
}

/** @param format null for the voice's own format; its samples then stay unchanged */
export function formattedSpeech(
  conversation: SynthesisConversation,
  format: SpeechFormat | null,
): FormattedSpeech {
  const { sampleRateHz } = conversation;
  if (format === null) return { encoding: "linear16", sampleRateHz, chunks: () => plain(conversation) };
  return { ...format, chunks: () => encoded(conversation, format) };
}

async function* plain(conversation: SynthesisConversation): AsyncGenerator<FormattedChunk, void, undefined> {
  for await (const { pcm, endsSentence, words } of conversation.chunks())
    yield { piece: pcm, sampleCount: pcm.length, endsSentence, words };
}

/** The resampler is flushed at the end of each sentence, so the next one does not start with its rest. */
async function* encoded(
  conversation: SynthesisConversation,
  { encoding, sampleRateHz }: SpeechFormat,
): AsyncGenerator<FormattedChunk, void, undefined> {
  const encoder = new EncodedPcm(encoding, conversation.sampleRateHz, sampleRateHz);
  for await (const { pcm, endsSentence, words } of conversation.chunks()) {
    const piece = endsSentence ? Buffer.concat([encoder.push(pcm), encoder.flush()]) : encoder.push(pcm);
    yield { piece, sampleCount: pcm.length, endsSentence, words };
  }
}
