import { useEffect, useRef, useState } from "preact/hooks";
import type { ViewProps } from "../api.js";
import { clock } from "../clock.js";
import { linesOf, liveDownloads, liveText } from "../downloads.js";
import { useIsSlow } from "../hooks.js";
import { modelOption, useModels } from "../models.js";
import { number, t } from "../text/language.js";
import { textForm } from "../text-form.js";
import { MinuteCost } from "../ui/cost.js";
import { ExportButtons } from "../ui/export-buttons.js";
import { History } from "../ui/history.js";
import { HotWordsOption, hotWordsOf } from "../ui/hot-words-option.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, ErrorNotice, PageHead, Warning } from "../ui/parts.js";
import { listenSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { TextFormChoice } from "../ui/text-form-choice.js";
import { type LiveSession, useLive } from "../use-live.js";

const COLD_AFTER_MS = 3_000;
/** If the text box is scrolled to within this distance of its end, it follows new text. */
const FOLLOW_PX = 80;

export function Listen({ organization }: ViewProps) {
  const [hotWords, setHotWords] = useState("");
  const chosenModel = useModels("transcription");
  const session = useLive(organization.id);
  const options = { ...modelOption(chosenModel.model), hotWords: hotWordsOf(hotWords) };
  const isIdle = session.state === "idle";
  return (
    <>
      <PageHead title={t("listen")} lead={t("listenLead")} />
      <ModelChoice of={chosenModel} isFixed={!isIdle} />
      {session.problem?.code === "microphone" ? (
        <Warning title={t("microphoneDenied")} text={t("microphoneDeniedLead")} />
      ) : (
        <ErrorNotice problem={session.problem} />
      )}
      <section class="card live-session">
        <div class="actions start">
          {isIdle ? (
            <Button look="primary" onClick={() => void session.start(options)} text={t("start")} />
          ) : (
            <Button
              look="danger"
              isBusy={session.state === "closing"}
              onClick={session.stop}
              text={t("stop")}
            />
          )}
          <SessionState session={session} />
        </div>
        <Meters session={session} />
        <LiveText session={session} />
        <SessionFoot session={session} />
        {isIdle && <HotWordsOption value={hotWords} onInput={setHotWords} />}
      </section>
      <History kind="listen" organizationId={organization.id} />
      <Samples {...listenSamples(location.origin, { ...options, display: textForm.use() === "readable" })} />
    </>
  );
}

interface SessionProps {
  readonly session: LiveSession;
}

function SessionState({ session: { state, seconds, done } }: SessionProps) {
  const isCold = useIsSlow(state === "connecting", COLD_AFTER_MS);
  const isIdle = state === "idle";
  return (
    <>
      {!isIdle && (
        <span class="number" role="timer">
          {clock(seconds)}
        </span>
      )}
      <p class={`state ${state}`} role="status">
        {state === "connecting" && t(isCold ? "cold" : "connecting")}
        {(state === "listening" || state === "reconnecting") && t(state)}
        {isIdle &&
          done !== null &&
          t("ended", {
            seconds: t("seconds", { n: number(done.audioSeconds, 1) }),
            n: done.creditsCharged,
          })}
      </p>
      {isIdle && done === null && <MinuteCost kind="live" />}
    </>
  );
}

function Meters({ session: { level, latencyMs } }: SessionProps) {
  return (
    <div class="meters">
      <label>
        {t("level")}
        <meter min={0} max={1} value={level} />
      </label>
      <div>
        <span>{t("latency")}</span>
        <strong class="number" data-latency={latencyMs === null ? "" : Math.round(latencyMs)}>
          {latencyMs === null ? t("noLatency") : t("milliseconds", { n: number(latencyMs) })}
        </strong>
      </div>
    </div>
  );
}

function LiveText({ session: { finals, partial, done } }: SessionProps) {
  const lines = linesOf({ finals, done }, textForm.use());
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => scrollAlong(box.current), [finals, partial]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <div ref={box} class="heard" lang="kk" role="log" aria-label={t("text")} tabIndex={0}>
      {finals.length === 0 && partial === null && <p class="hint centered">{t("listenEmpty")}</p>}
      {lines.map(({ text, start }, index) => (
        <div key={index} class="paragraph">
          <span class="time number">{clock(start)}</span>
          <p class="final">{text}</p>
        </div>
      ))}
      {partial !== null && partial.text !== "" && (
        <div class="paragraph" aria-hidden="true">
          <span class="time number">{clock(partial.start)}</span>
          <p class="partial">{partial.text}</p>
        </div>
      )}
    </div>
  );
}

/** Keeps the newest words visible, unless the reader has scrolled back. */
function scrollAlong(box: HTMLElement | null): void {
  const last = box?.lastElementChild;
  if (!box || !(last instanceof HTMLElement)) return;
  const below = box.scrollHeight - box.scrollTop - box.clientHeight - last.offsetHeight;
  if (below < FOLLOW_PX) box.scrollTop = box.scrollHeight;
}

function SessionFoot({ session: { finals, done, model } }: SessionProps) {
  if (finals.length === 0 && done === null) return null;
  return (
    <div class="live-foot">
      {finals.length > 0 && (
        <div class="actions start">
          <TextFormChoice />
          <ExportButtons
            text={() => liveText({ finals, done })}
            name="dauys-listen"
            downloads={liveDownloads({ finals, done })}
          />
        </div>
      )}
      {done !== null && (
        <>
          <p class="hint answered">{model}</p>
          <p class="hint mono">{done.sessionIds.join(" ")}</p>
        </>
      )}
    </div>
  );
}
