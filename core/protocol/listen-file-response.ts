import type { BilledTranscript, FileTranscript, FileWord } from "../domain/decoding/transcript.js";
import { ratio, seconds } from "../domain/rounded.js";
import { majorityLanguage } from "../domain/text/script.js";
import type { ListenFileOptions } from "./listen-file-query.js";
import type { ListenFileWord, ListenParagraph, ListenTranscript } from "./listen-file-schemas.js";
import { listenText, listenWords } from "./listen-words.js";
import { ofChannel } from "./transcription-response.js";

/** Silence that starts a paragraph. */
const PARAGRAPH_SECONDS = 2;
const SENTENCE_END = /[.?!…][»”")]{0,2}$/u;
const CODES = { kazakh: "kk", russian: "ru" } as const;

/** Facts about a request that the transcript does not contain. */
export interface ListenRequestFacts {
  readonly requestId: string;
  /** Hash of the submitted audio, hexadecimal. */
  readonly sha256: string;
  readonly createdAt: Date;
}

/** Converts a transcript to Deepgram's shape. */
export function toListenTranscript(
  transcript: BilledTranscript,
  options: ListenFileOptions,
  facts: ListenRequestFacts,
): ListenTranscript {
  const channels = Array.from({ length: transcript.channelCount ?? 1 }, (_, channel) => {
    const own = transcript.channelCount === undefined ? transcript : ofChannel(transcript, channel);
    return { channel, ...spokenWords(own, options) };
  });
  return {
    metadata: metadataOf(transcript, options, facts),
    results: {
      channels: channels.map((own) => channelOf(own, options)),
      ...(options.utterances && { utterances: utterancesOf(channels, options, facts) }),
    },
  };
}

interface ChannelWords {
  readonly channel: number;
  /** The spoken words. */
  readonly said: readonly FileWord[];
  /** Their words in the response. */
  readonly words: readonly ListenFileWord[];
}

function spokenWords(
  transcript: FileTranscript,
  { hasMarks }: ListenFileOptions,
): Omit<ChannelWords, "channel"> {
  const said = transcript.segments.flatMap((segment) => segment.words);
  const readable = transcript.isDisplayed
    ? transcript.segments.flatMap((segment) => segment.readable ?? [])
    : null;
  return { said, words: listenWords(said, readable, hasMarks) };
}

function channelOf(
  { said, words }: ChannelWords,
  options: ListenFileOptions,
): ListenTranscript["results"]["channels"][number] {
  const language = options.detectsLanguage ? majorityLanguage(said.map(({ word }) => word)) : null;
  const sentences = () =>
    options.hasMarks ? sentencesOf(words) : runsOf(words, options.utteranceSplitSeconds);
  return {
    alternatives: [
      {
        transcript: listenText(words),
        confidence: meanConfidence(words),
        words,
        ...(options.paragraphs && { paragraphs: paragraphsOf(sentences()) }),
      },
    ],
    ...(language !== null && { detected_language: CODES[language] }),
  };
}

/** Utterances of all channels, in order of time. */
function utterancesOf(
  channels: readonly ChannelWords[],
  { utteranceSplitSeconds }: ListenFileOptions,
  { requestId }: ListenRequestFacts,
) {
  const runs = channels.flatMap(({ channel, words }) =>
    runsOf(words, utteranceSplitSeconds).map((run) => ({ channel, run, ...spanOf(run) })),
  );
  return runs
    .sort((a, b) => a.start - b.start)
    .map(({ channel, run, start, end }, index) => ({
      ...{ start, end },
      confidence: meanConfidence(run),
      channel,
      transcript: listenText(run),
      words: run,
      id: `${requestId}-${index}`,
      ...speakerOf(run),
    }));
}

function metadataOf(
  { modelId, sampleCountIn, sampleRateInHz, channelCount = 1 }: BilledTranscript,
  { model }: ListenFileOptions,
  { requestId, sha256, createdAt }: ListenRequestFacts,
): ListenTranscript["metadata"] {
  return {
    transaction_key: "deprecated",
    request_id: requestId,
    sha256,
    created: createdAt.toISOString(),
    duration: seconds(sampleCountIn / sampleRateInHz),
    channels: channelCount,
    models: [modelId],
    model_info: { [modelId]: { name: modelId, version: modelId, arch: model.family } },
  };
}

/** Splits words at silences of at least `splitSeconds`, and where the speaker changes. */
function runsOf(words: readonly ListenFileWord[], splitSeconds: number): readonly ListenFileWord[][] {
  const runs: ListenFileWord[][] = [];
  let lastEnd = Number.NEGATIVE_INFINITY;
  for (const word of words) {
    const isOther = word.speaker !== runs.at(-1)?.[0]?.speaker;
    if (word.start - lastEnd >= splitSeconds || isOther) runs.push([]);
    runs.at(-1)!.push(word);
    lastEnd = word.end;
  }
  return runs;
}

/** Splits words after marks that end sentences, and where the speaker changes. */
function sentencesOf(words: readonly ListenFileWord[]): readonly ListenFileWord[][] {
  const sentences: ListenFileWord[][] = [];
  let isOver = true;
  for (const word of words) {
    if (isOver || word.speaker !== sentences.at(-1)?.[0]?.speaker) sentences.push([]);
    sentences.at(-1)!.push(word);
    isOver = SENTENCE_END.test(word.punctuated_word ?? "");
  }
  return sentences;
}

/** Joins sentences into paragraphs, which are separated by silence or a change of the speaker. */
function paragraphsOf(runs: readonly (readonly ListenFileWord[])[]) {
  const paragraphs: ListenParagraph[] = [];
  for (const run of runs) {
    const { start, end } = spanOf(run);
    const sentence = { text: listenText(run), start, end };
    const last = paragraphs.at(-1);
    const speaker = speakerOf(run);
    const isOther = speaker.speaker !== last?.speaker;
    if (last === undefined || start - last.end >= PARAGRAPH_SECONDS || isOther) {
      paragraphs.push({ sentences: [sentence], num_words: run.length, start, end, ...speaker });
    } else {
      const sentences = [...last.sentences, sentence];
      paragraphs[paragraphs.length - 1] = {
        ...{ sentences, num_words: last.num_words + run.length },
        ...{ start: last.start, end, ...speaker },
      };
    }
  }
  const texts = paragraphs.map(({ sentences }) => sentences.map(({ text }) => text).join(" "));
  return { transcript: `\n${texts.join("\n\n")}`, paragraphs };
}

function speakerOf([first]: readonly ListenFileWord[]): { readonly speaker?: number } {
  return first?.speaker === undefined ? {} : { speaker: first.speaker };
}

function spanOf(run: readonly ListenFileWord[]): { readonly start: number; readonly end: number } {
  return { start: run[0]!.start, end: run.at(-1)!.end };
}

/** Returns 0 without words. */
function meanConfidence(words: readonly ListenFileWord[]): number {
  return ratio(words.reduce((sum, { confidence }) => sum + confidence, 0) / Math.max(1, words.length));
}
