import { withStoredHotWords } from "../../core/domain/vocabulary.js";
import type { Caller, Conversations, FileWishes, LiveWishes } from "../../core/ports/conversations.js";

/** Adds the words that a caller's organization stored to its requests, unless a request leaves them out. */
export function withStoredWords(conversations: Conversations): Conversations {
  const { hearing } = conversations.catalog;
  const heard = <W extends FileWishes | LiveWishes>(caller: Caller, wishes: W): W => {
    const { vocabulary } = caller;
    if (vocabulary === undefined || wishes.organizationDefaults === false) return wishes;
    const alphabet = hearing.find(wishes.model)?.alphabet ?? new Set<string>();
    return { ...wishes, hotWords: withStoredHotWords(wishes.hotWords, vocabulary.hotWords, alphabet) };
  };
  const spoken = <W extends { readonly organization_defaults?: boolean | undefined }>(
    { vocabulary }: Caller,
    wishes: W,
  ) =>
    vocabulary === undefined || wishes.organization_defaults === false
      ? wishes
      : { ...wishes, storedPronunciations: vocabulary.pronunciations };
  return {
    ...conversations,
    synthesis: (caller, request, delivery) =>
      conversations.synthesis(caller, spoken(caller, request), delivery),
    speaking: (caller, wishes, sink) => conversations.speaking(caller, spoken(caller, wishes), sink),
    transcription: (caller, path, wishes) => conversations.transcription(caller, path, heard(caller, wishes)),
    live: (caller, options, sink) => conversations.live(caller, heard(caller, options), sink),
  };
}
