import { useEffect, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../../client/browser.js";
import { asProblem, creditsChanged, type Problem } from "../api.js";
import { clock } from "../clock.js";
import { transcriptDownloads } from "../downloads.js";
import { keepResult, type RecordingSource } from "../history.js";
import { useIsSlow, useSecondsOf } from "../hooks.js";
import { modelWish, useModels } from "../models.js";
import { forgetRefusedKey, playgroundClient } from "../playground-client.js";
import { useWords } from "../text/language.js";
import { History } from "../ui/history.js";
import { HotWordsOption, hotWordsOf } from "../ui/hot-words-option.js";
import { MinuteCost } from "../ui/minute-cost.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, Field, PageHead, Trouble } from "../ui/parts.js";
import { transcribeSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { Transcript } from "../ui/transcript.js";
import type { ViewProps } from "../view-props.js";

const COLD_AFTER_MS = 6_000;
/** Two hours of sound over a slow line, and the time to write them down. */
const TIMEOUT_MS = 60 * 60_000;

interface Upload {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

type Work =
  | { readonly state: "waiting" }
  /** Null where nothing leaves this browser. */
  | {
      readonly state: "uploading";
      readonly source: RecordingSource;
      readonly upload: Upload | null;
      /** Of the audio that is transcribed; null until the service tells it. */
      readonly share: number | null;
    }
  | { readonly state: "done"; readonly transcript: Transcribed; readonly source: RecordingSource };

export function Transcribe({ organization }: ViewProps) {
  const { t, number } = useWords();
  const [work, setWork] = useState<Work>({ state: "waiting" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [url, setUrl] = useState("");
  const [hotWords, setHotWords] = useState("");
  const [isOver, setOver] = useState(false);
  const chosenModel = useModels("transcription");
  const running = useRef<AbortController | null>(null);
  const upload = work.state === "uploading" ? work.upload : null;
  const isDecoding = work.state === "uploading" && (upload === null || upload.sentBytes >= upload.totalBytes);
  const share = work.state === "uploading" ? work.share : null;
  const sharePercent = Math.floor((share ?? 0) * 100);
  const isCold = useIsSlow(isDecoding && share === null, COLD_AFTER_MS);
  const seconds = useSecondsOf(isDecoding);
  useEffect(() => () => running.current?.abort(), []);

  const transcribe = async (source: RecordingSource) => {
    const control = new AbortController();
    running.current = control;
    setProblem(null);
    const file = source instanceof File ? source : null;
    const show = (upload: Upload | null, share: number | null = null) => {
      if (!control.signal.aborted) setWork({ state: "uploading", source, upload, share });
    };
    const all = file === null ? null : { sentBytes: file.size, totalBytes: Math.max(1, file.size) };
    show(all === null ? null : { ...all, sentBytes: 0 });
    try {
      const client = await playgroundClient(organization.id);
      const transcript = await client.transcribe(source, {
        ...modelWish(chosenModel.model),
        timestamps: true,
        hotWords: hotWordsOf(hotWords),
        signal: control.signal,
        timeoutMs: TIMEOUT_MS,
        onProgress: (share) => show(all, share),
        ...(file !== null && {
          onUploadProgress: ({ sentBytes, totalBytes }) =>
            show({ sentBytes, totalBytes: totalBytes ?? file.size }),
        }),
      });
      keepResult({
        kind: "transcribe",
        organizationId: organization.id,
        model: transcript.model,
        title: nameOf(source),
        text: transcript.text,
        seconds: transcript.audio_seconds,
        credits: transcript.credits_charged,
        sound: file,
        downloads: transcriptDownloads(transcript),
        transcript: { transcribed: transcript, source },
      });
      if (!control.signal.aborted) setWork({ state: "done", transcript, source });
    } catch (thrown) {
      forgetRefusedKey(thrown);
      if (running.current !== control) return;
      setProblem(asProblem(thrown));
      setWork({ state: "waiting" });
    } finally {
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  const take = (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file !== undefined) void transcribe(file);
  };
  const sampleOf = work.state !== "waiting" ? work.source : url === "" ? { name: "recording.mp3" } : { url };
  const percent = upload === null ? 0 : Math.floor((upload.sentBytes / upload.totalBytes) * 100);
  const digits = (upload?.totalBytes ?? 0) < 10e6 ? 2 : 0;
  const megabytes = (bytes: number) => number(bytes / 1e6, digits);
  return (
    <>
      <PageHead title={t("transcribe")} lead={t("transcribeLead")} />
      <ModelChoice of={chosenModel} isFixed={work.state === "uploading"} />
      <Trouble problem={problem} />
      {work.state === "waiting" && (
        <div class="stack">
          <label
            class={`drop ${isOver ? "over" : ""}`}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={(event) => {
              event.preventDefault();
              setOver(false);
              take(event.dataTransfer?.files);
            }}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M12 16V5M7 9.5 12 4.5l5 5M5 19.5h14" />
            </svg>
            <strong>{t("drop")}</strong>
            <span>{t("choose")}</span>
            <input
              type="file"
              accept="audio/*,video/*"
              class="hidden"
              onChange={(event) => take(event.currentTarget.files)}
            />
          </label>
          <form
            class="inline"
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              if (url.trim() !== "") void transcribe({ url: url.trim() });
            }}
          >
            <Field label={t("orUrl")} name="url" type="url" value={url} onInput={setUrl} autocomplete="off" />
            <Button type="submit">{t("transcribe")}</Button>
          </form>
          <MinuteCost kind="file" />
          <HotWordsOption value={hotWords} onInput={setHotWords} />
        </div>
      )}
      {work.state === "uploading" && (
        <section class="card working">
          <p class="file-name">{nameOf(work.source)}</p>
          <div class="progress-head">
            <p role="status">
              {share !== null
                ? t("workingShare", { n: sharePercent })
                : isDecoding
                  ? t(upload === null ? "fetching" : "working")
                  : t("uploading", { n: percent })}
            </p>
            <span class="hint number" role="timer">
              {isDecoding
                ? clock(seconds)
                : t("uploaded", {
                    sent: megabytes(upload?.sentBytes ?? 0),
                    total: megabytes(upload?.totalBytes ?? 0),
                  })}
            </span>
          </div>
          {share !== null ? (
            <progress aria-label={t("working")} max={100} value={sharePercent} />
          ) : isDecoding ? (
            <progress aria-label={t("working")} />
          ) : (
            <progress aria-label={t("transcribe")} max={100} value={percent} />
          )}
          {isCold && (
            <p class="hint" role="status">
              {t("cold")}
            </p>
          )}
          <Button onClick={() => running.current?.abort()}>{t("cancel")}</Button>
        </section>
      )}
      {work.state === "done" && (
        <>
          <Transcript key={work.transcript.request_id} transcript={work.transcript} source={work.source} />
          <div class="actions start">
            <Button onClick={() => setWork({ state: "waiting" })}>{t("another")}</Button>
          </div>
        </>
      )}
      <History
        kind="transcribe"
        organizationId={organization.id}
        onOpen={({ transcript }) => {
          if (transcript === undefined || work.state === "uploading") return;
          setProblem(null);
          setWork({ state: "done", transcript: transcript.transcribed, source: transcript.source });
          scrollTo({ top: 0 });
        }}
      />
      <Samples
        {...transcribeSamples(location.origin, sampleOf, {
          ...modelWish(chosenModel.model),
          hotWords: hotWordsOf(hotWords),
        })}
      />
    </>
  );
}

function nameOf(source: RecordingSource): string {
  return source instanceof File ? source.name : source.url;
}
