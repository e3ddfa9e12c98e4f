import { setImmediate as nextTurn } from "node:timers/promises";
import type { BilledTranscript } from "../../../core/domain/decoding/transcript.js";
import { ServiceError } from "../../../core/domain/errors.js";
import { seconds } from "../../../core/domain/rounded.js";
import { readingCuesInSteps } from "../../../core/domain/text/cues.js";
import { majorityLanguage } from "../../../core/domain/text/script.js";
import { type Cue, formatSrt, formatVtt } from "../../../core/domain/text/subtitles.js";
import type { Departure } from "../../../core/ports/front.js";
import { ignoredHeader } from "../../../core/protocol/ignored-names.js";
import { parseTranscriptionForm, type TranscriptFormat } from "../../../core/protocol/transcription-form.js";
import {
  toTranscription,
  toVerboseSegment,
  usageHeaders,
} from "../../../core/protocol/transcription-response.js";
import type { Transcription, VerboseTranscript } from "../../../core/protocol/transcription-schemas.js";
import type { Exchange } from "../exchange.js";
import { endWithBody, jsonInTurns, type LongBody, textBody } from "../long-body.js";
import { modelForFingerprint } from "../once-by-key.js";
import type { Handlers } from "../router.js";
import {
  admitFile,
  checkRoom,
  type FileDeps,
  FormUpload,
  isMultipart,
  transcribeUpload,
} from "../transcribed-upload.js";

/** File transcription for OpenAI clients. */
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
  // Fields may follow the file, so they are complete only when this is called, before anything is
  // transcribed.
  const wanted = () => {
    const asked = parseTranscriptionForm(form.fields, deps.conversations.catalog.hearing);
    const { format, reading, isReadingDefault, ignored } = asked;
    exchange.addHeaders(ignoredHeader(ignored));
    const answer = async (transcript: BilledTranscript, departure: Departure) => {
      const transcription = toTranscription(transcript, true);
      const { contentType, body } = await render(transcription, format);
      const type = { "content-type": contentType, "content-length": String(body.bytes) };
      exchange.start(200, { ...type, ...usageHeaders(transcription) });
      await endWithBody(exchange, body, departure);
    };
    const wishes = { model: asked.model.name, hotWords: [], reading };
    const fingerprintParts = [
      format,
      ...modelForFingerprint(asked),
      ...(isReadingDefault ? [] : [{ reading }]),
    ];
    return { fingerprintParts, wishes, answer };
  };
  await transcribeUpload({ exchange, deps, caller, key, upload: form, wanted });
}

async function render(
  transcription: Transcription,
  format: TranscriptFormat,
): Promise<{ readonly contentType: string; readonly body: LongBody }> {
  const text = transcription.display_text ?? transcription.text;
  switch (format) {
    case "json":
      return { contentType: "application/json", body: textBody(JSON.stringify({ text })) };
    case "text":
      return { contentType: "text/plain; charset=utf-8", body: textBody(text) };
    case "srt":
      return {
        contentType: "application/x-subrip; charset=utf-8",
        body: textBody(formatSrt(await cuesOf(transcription))),
      };
    case "vtt":
      return {
        contentType: "text/vtt; charset=utf-8",
        body: textBody(formatVtt(await cuesOf(transcription))),
      };
    case "verbose_json":
      return { contentType: "application/json", body: await jsonInTurns(verbose(transcription, text)) };
  }
}

/** Lays out subtitles in turns: two hours of speech would hold up other clients for a tenth of a second. */
async function cuesOf({ words = [], display_words }: Transcription): Promise<readonly Cue[]> {
  const steps = readingCuesInSteps(display_words ?? words);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await nextTurn();
  }
}

/** With readable text, segments and words have it too, so that all texts of the answer agree. */
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
    words: display_words?.map(({ word, start, end }) => ({ word, start, end })) ?? words,
    ...(redactions !== undefined && { redactions }),
  };
}
