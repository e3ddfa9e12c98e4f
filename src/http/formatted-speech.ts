import { EncodedPcm } from "../../core/domain/audio/encoded-pcm.js";
import type { StreamedFormat } from "../../core/domain/audio/streamed-pcm.js";
import type { WavPiece } from "../../core/domain/audio/wav.js";
import type { SpeechChunk, SynthesisConversation } from "../../core/ports/conversations.js";
import type { SpeechFormat } from "../../core/protocol/speak-query.js";

/** A chunk of speech as the client gets it. */
export interface FormattedChunk extends Pick<SpeechChunk, "endsSentence" | "words"> {
  readonly piece: WavPiece;
  /** Samples that the voice made for it, which word times count. */
  readonly sampleCount: number;
}

/** A synthesis in the requested format. */
export interface FormattedSpeech {
  readonly encoding: StreamedFormat;
  readonly sampleRateHz: number;
  chunks(): AsyncIterable<FormattedChunk>;
}

/** @param format null for that of the voice, whose samples then stay as they are */
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

/** A sentence ends with its last sample, so the next one does not begin with the rest of it. */
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
