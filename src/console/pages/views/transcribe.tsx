import { useEffect, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../../client/browser.js";
import { asProblem, creditsChanged, type Problem } from "../api.js";
import { useIsSlow } from "../hooks.js";
import { forgetRefusedKey, playgroundClient } from "../playground-client.js";
import { useWords } from "../text/language.js";
import { Button, Field, PageHead, Trouble } from "../ui/parts.js";
import { transcribeSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { Transcript } from "../ui/transcript.js";
import type { ViewProps } from "../view-props.js";

const COLD_AFTER_MS = 6_000;

type Source = File | { readonly url: string };
type Work =
  | { readonly state: "waiting" }
  /** Null while nothing is told about the upload. */
  | { readonly state: "uploading"; readonly percent: number | null }
  | { readonly state: "done"; readonly transcript: Transcribed; readonly source: Source };

export function Transcribe({ organization }: ViewProps) {
  const { t } = useWords();
  const [work, setWork] = useState<Work>({ state: "waiting" });
  const [problem, setProblem] = useState<Problem | null>(null);
  const [url, setUrl] = useState("");
  const [isOver, setOver] = useState(false);
  const running = useRef<AbortController | null>(null);
  const isUploaded = work.state === "uploading" && (work.percent === null || work.percent >= 100);
  const isCold = useIsSlow(isUploaded, COLD_AFTER_MS);
  useEffect(() => () => running.current?.abort(), []);

  const transcribe = async (source: Source) => {
    const control = new AbortController();
    running.current = control;
    setProblem(null);
    setWork({ state: "uploading", percent: source instanceof File ? 0 : null });
    try {
      const client = await playgroundClient(organization.id);
      const transcript = await client.transcribe(source, {
        timestamps: true,
        signal: control.signal,
        ...(source instanceof File && {
          onUploadProgress: ({ sentBytes, totalBytes }) => {
            const percent = totalBytes === null ? null : Math.round((sentBytes / totalBytes) * 100);
            if (!control.signal.aborted) setWork({ state: "uploading", percent });
          },
        }),
      });
      setWork({ state: "done", transcript, source });
    } catch (thrown) {
      forgetRefusedKey(thrown);
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
  const sampleOf = work.state === "done" ? work.source : url === "" ? { name: "recording.mp3" } : { url };
  return (
    <>
      <PageHead title={t("transcribe")} lead={t("transcribeLead")} />
      <Trouble problem={problem} />
      {work.state === "waiting" && (
        <>
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
        </>
      )}
      {work.state === "uploading" && (
        <section class="card working">
          <p role="status">
            {isUploaded ? t("working") : t("uploading", { n: work.percent ?? 0 })}
            {isCold && <span class="hint"> {t("cold")}</span>}
          </p>
          {isUploaded ? (
            <progress aria-label={t("working")} />
          ) : (
            <progress aria-label={t("transcribe")} max={100} value={work.percent ?? 0} />
          )}
          <Button onClick={() => running.current?.abort()}>{t("cancel")}</Button>
        </section>
      )}
      {work.state === "done" && (
        <>
          <Transcript transcript={work.transcript} source={work.source} />
          <div class="actions start">
            <Button onClick={() => setWork({ state: "waiting" })}>{t("another")}</Button>
          </div>
        </>
      )}
      <Samples {...transcribeSamples(location.origin, sampleOf)} />
    </>
  );
}
