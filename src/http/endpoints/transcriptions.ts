import type { BilledTranscript, TranscribedSegment } from "../../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { seconds } from "../../../core/domain/rounded.js";
import { majorityLanguage } from "../../../core/domain/text/script.js";
import type { TranscriptionConversation } from "../../../core/ports/conversations.js";
import type { Departure } from "../../../core/ports/front.js";
import { ignoredHeader } from "../../../core/protocol/ignored-names.js";
import { pickedDefaults } from "../../../core/protocol/organization-defaults.js";
import { parseTranscriptionForm, type TranscriptionForm } from "../../../core/protocol/transcription-form.js";
import {
  toTranscription,
  toVerboseSegment,
  usageHeaders,
} from "../../../core/protocol/transcription-response.js";
import type { Transcription, VerboseTranscript } from "../../../core/protocol/transcription-schemas.js";
import { OpenAiEvents } from "../events.js";
import type { Exchange } from "../exchange.js";
import { endWithBody, jsonInTurns, type LongBody, textBody } from "../long-body.js";
import { defaultsForFingerprint, modelForFingerprint } from "../once-by-key.js";
import type { Handlers } from "../router.js";
import { subtitleBody } from "../subtitles.js";
import {
  admitFile,
  checkRoom,
  type FileDeps,
  FormUpload,
  isMultipart,
  transcribeUpload,
  type WantedAnswer,
} from "../transcribed-upload.js";

/** Handlers for file transcription by OpenAI clients. */
export function transcriptionsHandlers(deps: FileDeps): Handlers<"POST /v1/audio/transcriptions"> {
  return { "POST /v1/audio/transcriptions": (exchange) => transcribeForm(exchange, deps) };
}

async function transcribeForm(exchange: Exchange, deps: FileDeps): Promise<void> {
  const { request } = exchange;
  const { caller, key } = await admitFile(exchange, deps);
  await checkRoom(request, deps.room);
  if (!isMultipart(request)) {
    throw new ServiceError("NO_AUDIO", "no audio supplied: send multipart/form-data with a part file", {
      param: "file",
    });
  }
  const form = await FormUpload.open(request);
  // Fields may follow the file, so they are complete only when this is called, which happens before anything
  // is transcribed.
  const wanted = () => {
    const asked = parseTranscriptionForm(form.fields, deps.conversations.catalog.hearing);
    exchange.addHeaders(ignoredHeader(asked.ignored));
    return asked.isStreamed ? streamed(exchange, asked) : whole(exchange, asked);
  };
  await transcribeUpload({ exchange, deps, caller, key, upload: form, wanted });
}

function whole(exchange: Exchange, asked: TranscriptionForm): WantedAnswer {
  const { format, granularities, reading, isReadingDefault, channels } = asked;
  return {
    // A request for both lists keeps the fingerprint from before the parameter existed.
    fingerprintParts: [
      format,
      ...modelForFingerprint(asked),
      ...(format === "verbose_json" && granularities.length === 1 ? [{ granularities }] : []),
      ...(isReadingDefault ? [] : [{ reading }]),
      ...(channels === "mix" ? [] : [{ channels }]),
      ...defaultsForFingerprint(asked),
    ],
    wishes: { model: asked.model.name, hotWords: [], reading, channels, ...pickedDefaults(asked) },
    async answer(transcript: BilledTranscript, departure: Departure) {
      const transcription = toTranscription(transcript, true);
      const { contentType, body } = await render(transcription, asked);
      const type = { "content-type": contentType, "content-length": String(body.bytes) };
      exchange.start(200, { ...type, ...usageHeaders(transcription) });
      await endWithBody(exchange, body, departure);
    },
  };
}

/** Sends the text of each segment as it is transcribed. The file is charged before the first one. */
function streamed(exchange: Exchange, asked: TranscriptionForm): WantedAnswer {
  const events = new OpenAiEvents(exchange);
  let conversation: TranscriptionConversation | null = null;
  let hasText = false;
  let sent: Promise<void> = Promise.resolve();
  const send = async (segments: readonly TranscribedSegment[]) => {
    await conversation?.charge();
    for (const { text } of segments) {
      await events.send({ type: "transcript.text.delta", delta: hasText ? ` ${text}` : text });
      hasText = true;
    }
  };
  return {
    fingerprintParts: [
      ...[asked.format, ...modelForFingerprint(asked), { stream: true }],
      ...defaultsForFingerprint(asked),
    ],
    wishes: {
      model: asked.model.name,
      hotWords: [],
      ...pickedDefaults(asked),
      onSegments(segments) {
        sent = sent.then(() => send(segments));
        // The response awaits this, unless the transcript fails first.
        sent.catch(() => {});
      },
    },
    begun(begun) {
      conversation = begun;
    },
    async answer(transcript: BilledTranscript, departure: Departure) {
      await sent;
      const { text, audio_seconds } = toTranscription(transcript, false);
      const usage = { type: "duration", seconds: audio_seconds };
      await events.end({ type: "transcript.text.done", text, usage }, departure);
    },
  };
}

async function render(
  transcription: Transcription,
  { format, granularities }: TranscriptionForm,
): Promise<{ readonly contentType: string; readonly body: LongBody }> {
  const text = transcription.display_text ?? transcription.text;
  switch (format) {
    case "json":
      return { contentType: "application/json", body: textBody(JSON.stringify({ text })) };
    case "text":
      return { contentType: "text/plain; charset=utf-8", body: textBody(text) };
    case "srt":
    case "vtt":
      return subtitleBody(transcription, format);
    case "verbose_json": {
      const { segments, words, ...rest } = verbose(transcription, text);
      const body = await jsonInTurns({
        ...rest,
        // The interface requires both members; the one that was not requested is empty.
        segments: granularities.includes("segment") ? segments : [],
        words: granularities.includes("word") ? words : [],
      });
      return { contentType: "application/json", body };
    }
  }
}

/** Segments and words are readable too, so that all texts of the response agree. */
function verbose(transcription: Transcription, text: string): VerboseTranscript {
  const { words = [], display_words, segments = [], redactions } = transcription;
  return {
    task: "transcribe",
    language: majorityLanguage(words.map(({ word }) => word)),
    duration: seconds(transcription.audio_seconds),
    text,
    segments: segments.map(({ display_text, ...segment }) =>
      toVerboseSegment({ ...segment, text: display_text ?? segment.text }),
    ),
    words: display_words?.map(({ spoken: _, ...word }) => word) ?? words,
    ...(redactions !== undefined && { redactions }),
  };
}
