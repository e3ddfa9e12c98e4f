import { useState } from "preact/hooks";
import type { Job } from "../../../client/browser.js";
import { type Problem, toProblem, type ViewProps } from "../api.js";
import { saveFile } from "../downloads.js";
import { droppedFiles, recordingsOf } from "../dropped-files.js";
import { modelOption, useModels } from "../models.js";
import { playgroundClient } from "../playground-client.js";
import { dateAndTime, number, problemText, t } from "../text/language.js";
import { MinuteCost } from "../ui/cost.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { HotWordsOption, hotWordsOf } from "../ui/hot-words-option.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, ErrorNotice, Icon, PageHead, Skeleton } from "../ui/parts.js";
import { SpeakersOption, speakersOption } from "../ui/speakers-option.js";
import { isActive, isWaiting, type JobUpload, useJobs } from "../use-jobs.js";

const FORMATS = ["txt", "srt", "vtt", "json"] as const;
type Format = (typeof FORMATS)[number];

const STATES = [
  { status: "done", text: "jobDone" },
  { status: "running", text: "jobRunning" },
  { status: "queued", text: "jobQueued" },
  { status: "failed", text: "jobFailed" },
  { status: "cancelled", text: "jobCancelled" },
] as const;

/** Uploads many or long recordings, and lists the organization's jobs with their results. */
export function Jobs({ organization }: ViewProps) {
  const [hotWords, setHotWords] = useState("");
  const [wantsSpeakers, setWantsSpeakers] = useState(false);
  const [failure, setFailure] = useState<Problem | null>(null);
  const chosenModel = useModels("transcription");
  const { jobs, hasMore, more, problem, reload, uploads, add, end } = useJobs(organization.id);
  const start = (files: readonly File[]) =>
    // Browsers list a folder in any order.
    add(byName(files), {
      ...modelOption(chosenModel.model),
      ...speakersOption(chosenModel.model, wantsSpeakers),
      hotWords: hotWordsOf(hotWords),
    });
  const save = async (job: Job, format: Format) => {
    setFailure(null);
    try {
      saveFile(`${baseName(job)}.${format}`, await resultOf(organization.id, job, format));
    } catch (thrown) {
      setFailure(toProblem(thrown));
    }
  };
  return (
    <>
      <PageHead title={t("jobs")} lead={t("jobsLead")} />
      <ModelChoice of={chosenModel} isFixed={false} />
      <ErrorNotice problem={failure ?? problem} retry={() => void reload()} />
      <div class="stack">
        <DropZone onFiles={start} />
        <MinuteCost kind="file" />
        <SpeakersOption model={chosenModel.model} isChosen={wantsSpeakers} onChange={setWantsSpeakers} />
        <HotWordsOption value={hotWords} onInput={setHotWords} />
      </div>
      {uploads.length > 0 && <Uploads uploads={uploads} />}
      {jobs === null && problem === null && <Skeleton />}
      {jobs !== null && jobs.length > 0 && (
        <div class="job-list">
          <Counts jobs={jobs} />
          <DataTable
            class="jobs"
            label={t("jobs")}
            columns={jobColumns(end, save)}
            rows={jobs}
            keyOf={({ id }) => id}
            isFaded={({ status }) => status === "cancelled"}
          />
        </div>
      )}
      {hasMore && <Button onClick={more} text={t("more")} />}
    </>
  );
}

function byName(files: readonly File[]): readonly File[] {
  return files.toSorted((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
}

function DropZone({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const [isOver, setOver] = useState(false);
  const given = (files: readonly File[]) => files.length > 0 && onFiles(files);
  return (
    <div class="job-sources">
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
          if (event.dataTransfer !== null) void droppedFiles(event.dataTransfer).then(given);
        }}
      >
        <svg viewBox="0 0 24 24" aria-hidden="true">
          <path d="M12 16V5M7 9.5 12 4.5l5 5M5 19.5h14" />
        </svg>
        <strong>{t("dropMany")}</strong>
        <span>{t("chooseMany")}</span>
        <input
          type="file"
          accept="audio/*,video/*"
          multiple
          class="hidden"
          onChange={({ currentTarget }) => {
            given([...(currentTarget.files ?? [])]);
            currentTarget.value = "";
          }}
        />
      </label>
      <label class="button plain">
        {t("chooseFolder")}
        <input
          type="file"
          multiple
          class="hidden"
          ref={(input) => input?.setAttribute("webkitdirectory", "")}
          onChange={({ currentTarget }) => {
            given(recordingsOf(currentTarget.files ?? []));
            currentTarget.value = "";
          }}
        />
      </label>
    </div>
  );
}

function Uploads({ uploads }: { readonly uploads: readonly JobUpload[] }) {
  const waiting = uploads.filter(isWaiting);
  const failed = uploads.filter(({ problem }) => problem !== null);
  const counted = uploads.filter(({ problem }) => problem === null);
  const sent = counted.reduce((sum, { file, share }) => sum + file.size * share, 0);
  const all = counted.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <section class="card working">
      {waiting.length > 0 && (
        <>
          <div class="progress-head">
            <p role="status">{t("uploadsLeft", { n: waiting.length })}</p>
          </div>
          <progress
            aria-label={t("uploadsLeft", { n: waiting.length })}
            max={Math.max(1, all)}
            value={sent}
          />
          <p class="hint">{t("uploadsHint")}</p>
        </>
      )}
      {failed.map(({ file, problem }) => (
        <p key={file.name} class="wrong">
          {file.name}: {problem !== null && problemText(problem.code, problem.requestId)}
        </p>
      ))}
    </section>
  );
}

/** How many of the shown jobs are in each state: the newest come first, and so the results last. */
function Counts({ jobs }: { readonly jobs: readonly Job[] }) {
  const counts = STATES.map(({ status, text }) => ({
    text,
    n: jobs.filter((job) => job.status === status).length,
  }));
  const shown = counts.filter(({ n }) => n > 0).map(({ text, n }) => `${t(text)}: ${number(n)}`);
  return <p class="soft number">{shown.join(" · ")}</p>;
}

function jobColumns(
  end: (job: Job) => Promise<void>,
  save: (job: Job, format: Format) => Promise<void>,
): readonly Column<Job>[] {
  return [
    {
      id: "name",
      title: t("jobName"),
      isHead: true,
      cell: (job) => (
        <>
          <span class="job-name">{nameOf(job)}</span>
          <span class="below">{dateAndTime(job.created_at)}</span>
        </>
      ),
    },
    { id: "state", title: t("jobState"), cell: (job) => <State job={job} /> },
    {
      id: "result",
      title: t("jobResult"),
      cell: (job) => job.status === "done" && <Result job={job} save={save} />,
    },
    {
      id: "act",
      title: t("jobEnd"),
      isTitleHidden: true,
      isEnd: true,
      cell: (job) => {
        const text = t(isActive(job) ? "cancel" : "jobDelete");
        const label = `${text}: ${nameOf(job)}`;
        return <Button look="quiet" text={text} label={label} onClick={() => void end(job)} />;
      },
    },
  ];
}

function State({ job }: { readonly job: Job }) {
  const percent = Math.floor(job.share * 100);
  switch (job.status) {
    case "queued":
      return <span class="job-state">{t("jobQueued")}</span>;
    case "running":
      return (
        <>
          {t("workingShare", { n: percent })}
          <progress aria-label={nameOf(job)} max={100} value={percent} />
        </>
      );
    case "done":
      return (
        <>
          <span class="job-state good">{t("jobDone")}</span>
          <span class="below">{t("creditsUnit", { n: job.credits_charged ?? 0 })}</span>
        </>
      );
    case "failed":
      return (
        <>
          <span class="job-state wrong">{t("jobFailed")}</span>
          <span class="below">{problemText(job.error?.code ?? "", job.id)}</span>
        </>
      );
    case "cancelled":
      return <span class="job-state">{t("jobCancelled")}</span>;
  }
}

interface ResultProps {
  readonly job: Job;
  readonly save: (job: Job, format: Format) => Promise<void>;
}

function Result({ job, save }: ResultProps) {
  return (
    <>
      <div class="export-buttons">
        {FORMATS.map((format) => (
          <Button
            key={format}
            look="quiet"
            text={format}
            label={`${t("saveAs")} ${format}: ${nameOf(job)}`}
            icon={<Icon path="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />}
            onClick={() => void save(job, format)}
          />
        ))}
      </div>
      {job.expires_at !== null && (
        <span class="below">{t("jobKept", { date: dateAndTime(job.expires_at) })}</span>
      )}
    </>
  );
}

async function resultOf(organizationId: string, { id }: Job, format: Format): Promise<Blob> {
  const { jobs } = await playgroundClient(organizationId);
  if (format !== "json") return new Blob([await jobs.resultText(id, format)], { type: "text/plain" });
  return new Blob([JSON.stringify(await jobs.result(id), null, 2)], { type: "application/json" });
}

function nameOf({ file_name, url, id }: Job): string {
  return file_name ?? url ?? id;
}

function baseName(job: Job): string {
  return (job.file_name ?? job.id).replace(/\.[^.]*$/, "");
}
