import type { Metrics } from "../observe/metrics.js";
import type { Clock } from "../ports/clock.js";
import type {
  Conversations,
  SpeechChunk,
  SynthesisConversation,
  TranscriptionConversation,
} from "../ports/conversations.js";

/** The same conversations, with what happens in them counted and timed. */
export function measureConversations(
  conversations: Conversations,
  metrics: Metrics,
  clock: Clock,
): Conversations {
  return {
    models: conversations.models,
    alphabet: conversations.alphabet,
    synthesis: async (caller, request, delivery) =>
      measureSynthesis(await conversations.synthesis(caller, request, delivery), metrics, clock),
    transcription: (...work) => measureTranscription(conversations.transcription(...work), metrics),
    // Counted where the session is made.
    live: (...session) => conversations.live(...session),
    requireCredit: (caller, kind) => conversations.requireCredit(caller, kind),
  };
}

function measureSynthesis(
  conversation: SynthesisConversation,
  metrics: Metrics,
  clock: Clock,
): SynthesisConversation {
  const startedAtMs = clock.nowMs();
  const { billedCharacters, sampleRateHz, mostHeldBytes } = conversation;
  async function* chunks(): AsyncGenerator<SpeechChunk, void, undefined> {
    let isFirst = true;
    for await (const chunk of conversation.chunks()) {
      if (isFirst) {
        metrics.ttsFirstAudioMs.observe(clock.nowMs() - startedAtMs);
        metrics.ttsCharacters.inc(billedCharacters);
      }
      isFirst = false;
      metrics.ttsAudioSeconds.inc(chunk.pcm.length / chunk.sampleRateHz);
      yield chunk;
    }
  }
  return {
    billedCharacters,
    // Known once it is charged.
    get creditsCharged() {
      return conversation.creditsCharged;
    },
    sampleRateHz,
    mostHeldBytes,
    chunks,
    charge: () => conversation.charge(),
    sentence: conversation.sentence,
    answer: conversation.answer,
    complete: () => conversation.complete(),
    stop: (reason) => conversation.stop(reason),
  };
}

function measureTranscription(
  conversation: TranscriptionConversation,
  metrics: Metrics,
): TranscriptionConversation {
  const observe = async () => {
    const transcript = await conversation.transcript;
    const audioSeconds = transcript.sampleCountIn / transcript.sampleRateInHz;
    metrics.asrFileAudioSeconds.inc(audioSeconds);
    if (audioSeconds > 0) metrics.asrFileRtf.observe(transcript.processingSeconds / audioSeconds);
    return transcript;
  };
  const transcript = observe();
  // A client may leave before anybody waits for it.
  transcript.catch(() => {});
  return {
    transcript,
    answer: conversation.answer,
    complete: () => conversation.complete(),
    stop: (reason) => conversation.stop(reason),
  };
}
