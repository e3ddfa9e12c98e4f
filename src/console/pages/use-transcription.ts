import { useEffect, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../client/browser.js";
import { creditsChanged, type Problem, toProblem } from "./api.js";
import { transcriptDownloads, transcriptText } from "./downloads.js";
import { addResult, nameOf, type RecordingSource } from "./history.js";
import { dropRejectedKey, playgroundClient } from "./playground-client.js";

/** Enough to upload two hours of audio over a slow connection and transcribe it. */
const TIMEOUT_MS = 60 * 60_000;

export interface Upload {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

export type Transcription =
  | { readonly state: "waiting" }
  | {
      readonly state: "working";
      readonly source: RecordingSource;
      /** Null for a URL, from which the service downloads. */
      readonly upload: Upload | null;
      /** Transcribed share of the audio, 0 to 1; null until the service reports it. */
      readonly share: number | null;
    }
  | { readonly state: "done"; readonly transcript: Transcribed; readonly source: RecordingSource };

interface Options {
  readonly model?: string;
  readonly hotWords: readonly string[];
  readonly diarize?: boolean;
}

/** Transcribes recordings of an organization, one at a time. */
export function useTranscription(organizationId: string) {
  const [work, setWork] = useState<Transcription>({ state: "waiting" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const transcribe = async (source: RecordingSource, options: Options) => {
    const control = new AbortController();
    running.current = control;
    setProblem(null);
    const file = source instanceof File ? source : null;
    const show = (upload: Upload | null, share: number | null = null) => {
      if (!control.signal.aborted) setWork({ state: "working", source, upload, share });
    };
    const sent = file === null ? null : { sentBytes: file.size, totalBytes: Math.max(1, file.size) };
    show(sent && { ...sent, sentBytes: 0 });
    try {
      const client = await playgroundClient(organizationId);
      const transcript = await client.transcribe(source, {
        ...options,
        timestamps: true,
        // Request readable text too, so that the page can switch forms without another request.
        display: true,
        signal: control.signal,
        timeoutMs: TIMEOUT_MS,
        onProgress: (share) => show(sent, share),
        ...(file !== null && {
          onUploadProgress: ({ sentBytes, totalBytes }) =>
            show({ sentBytes, totalBytes: totalBytes ?? file.size }),
        }),
      });
      keep(organizationId, transcript, source);
      if (!control.signal.aborted) setWork({ state: "done", transcript, source });
    } catch (thrown) {
      dropRejectedKey(thrown);
      if (running.current !== control) return;
      setProblem(toProblem(thrown));
      setWork({ state: "waiting" });
    } finally {
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  return {
    work,
    problem,
    transcribe,
    cancel: () => running.current?.abort(),
    reset: () => setWork({ state: "waiting" }),
    /** Shows an earlier transcript again. */
    show: (transcript: Transcribed, source: RecordingSource) => {
      setProblem(null);
      setWork({ state: "done", transcript, source });
    },
  };
}

function keep(organizationId: string, transcript: Transcribed, source: RecordingSource): void {
  addResult({
    kind: "transcribe",
    organizationId,
    model: transcript.model,
    title: nameOf(source),
    text: () => transcriptText(transcript),
    seconds: transcript.audio_seconds,
    credits: transcript.credits_charged,
    sound: source instanceof File ? source : null,
    downloads: transcriptDownloads(transcript),
    transcript: { transcribed: transcript, source },
  });
}
