import { useState } from "preact/hooks";
import type { ViewProps } from "../api.js";
import { clock } from "../clock.js";
import { nameOf, type RecordingSource } from "../history.js";
import { useElapsedSeconds, useIsSlow } from "../hooks.js";
import { modelOption, useModels } from "../models.js";
import { number, t } from "../text/language.js";
import { textForm } from "../text-form.js";
import { MinuteCost } from "../ui/cost.js";
import { Field, Form } from "../ui/form.js";
import { History } from "../ui/history.js";
import { HotWordsOption, hotWordsOf } from "../ui/hot-words-option.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, ErrorNotice, PageHead } from "../ui/parts.js";
import { transcribeSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { SpeakersOption, speakersOption } from "../ui/speakers-option.js";
import { RecordingInput, Transcript } from "../ui/transcript.js";
import { type Transcription, useTranscription } from "../use-transcription.js";

const COLD_AFTER_MS = 6_000;

export function Transcribe({ organization }: ViewProps) {
  const [url, setUrl] = useState("");
  const [hotWords, setHotWords] = useState("");
  const [wantsSpeakers, setWantsSpeakers] = useState(false);
  const chosenModel = useModels("transcription");
  const { work, problem, transcribe, cancel, reset, show } = useTranscription(organization.id);
  const options = {
    ...modelOption(chosenModel.model),
    ...speakersOption(chosenModel.model, wantsSpeakers),
    hotWords: hotWordsOf(hotWords),
  };
  const sampleOptions = { ...options, display: textForm.use() === "readable" };
  const start = (source: RecordingSource) => void transcribe(source, options);
  const sampleOf = work.state !== "waiting" ? work.source : url === "" ? { name: "recording.mp3" } : { url };
  return (
    <>
      <PageHead title={t("transcribe")} lead={t("transcribeLead")} />
      <ModelChoice of={chosenModel} isFixed={work.state === "working"} />
      <ErrorNotice problem={problem} />
      {work.state === "waiting" && (
        <div class="stack">
          <DropZone onFile={start} />
          <Form class="inline" onSubmit={() => url.trim() !== "" && start({ url: url.trim() })}>
            <Field label={t("orUrl")} name="url" type="url" value={url} onInput={setUrl} autocomplete="off" />
            <Button type="submit" text={t("transcribe")} />
          </Form>
          <MinuteCost kind="file" />
          <SpeakersOption model={chosenModel.model} isChosen={wantsSpeakers} onChange={setWantsSpeakers} />
          <HotWordsOption value={hotWords} onInput={setHotWords} />
        </div>
      )}
      {work.state === "working" && <Progress {...work} onCancel={cancel} />}
      {work.state === "done" && (
        <>
          <Transcript key={work.transcript.request_id} transcript={work.transcript} source={work.source} />
          <div class="actions start">
            <Button onClick={reset} text={t("another")} />
          </div>
        </>
      )}
      <History
        kind="transcribe"
        organizationId={organization.id}
        onOpen={({ transcript }) => {
          if (transcript === undefined || work.state === "working") return;
          show(transcript.transcribed, transcript.source);
          scrollTo({ top: 0 });
        }}
      />
      <Samples {...transcribeSamples(location.origin, sampleOf, sampleOptions)} />
    </>
  );
}

function DropZone({ onFile }: { readonly onFile: (file: File) => void }) {
  const [isOver, setOver] = useState(false);
  return (
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
        const file = event.dataTransfer?.files[0];
        if (file !== undefined) onFile(file);
      }}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 16V5M7 9.5 12 4.5l5 5M5 19.5h14" />
      </svg>
      <strong>{t("drop")}</strong>
      <span>{t("choose")}</span>
      <RecordingInput onFile={onFile} />
    </label>
  );
}

type ProgressProps = Extract<Transcription, { readonly state: "working" }> & {
  readonly onCancel: () => void;
};

function Progress({ source, upload, share, onCancel }: ProgressProps) {
  const isUploading = share === null && upload !== null && upload.sentBytes < upload.totalBytes;
  const seconds = useElapsedSeconds(!isUploading);
  const isCold = useIsSlow(!isUploading && share === null, COLD_AFTER_MS);
  const megabytes = (bytes: number) =>
    number(bytes / 1e6, upload !== null && upload.totalBytes < 10e6 ? 2 : 0);
  const view = () => {
    if (isUploading) {
      const percent = Math.floor((upload.sentBytes / upload.totalBytes) * 100);
      const sizes = { sent: megabytes(upload.sentBytes), total: megabytes(upload.totalBytes) };
      return { percent, title: t("uploading", { n: percent }), side: t("uploaded", sizes) };
    }
    const side = clock(seconds);
    if (share === null) return { title: t(upload === null ? "fetching" : "working"), side };
    const percent = Math.floor(share * 100);
    return { percent, title: t("workingShare", { n: percent }), side };
  };
  const { percent, title, side } = view();
  return (
    <section class="card working">
      <p class="file-name">{nameOf(source)}</p>
      <div class="progress-head">
        <p role="status">{title}</p>
        <span class="hint number" role="timer">
          {side}
        </span>
      </div>
      {percent === undefined ? (
        <progress aria-label={t("working")} />
      ) : (
        <progress aria-label={t(isUploading ? "transcribe" : "working")} max={100} value={percent} />
      )}
      {isCold && (
        <p class="hint" role="status">
          {t("cold")}
        </p>
      )}
      <Button onClick={onCancel} text={t("cancel")} />
    </section>
  );
}
