import { useEffect, useRef, useState } from "preact/hooks";
import { writeWav } from "../../../../core/domain/audio/wav.js";
import type { LiveDone, LiveTranscription } from "../../../client/browser.js";
import { asProblem, creditsChanged, Problem } from "../api.js";
import { clock } from "../clock.js";
import { type HeardLine, heardDownloads, heardText } from "../downloads.js";
import { keepResult } from "../history.js";
import { useIsSlow } from "../hooks.js";
import { MICROPHONE_RATE_HZ, openMicrophone } from "../microphone.js";
import { modelWish, useModels } from "../models.js";
import { liveClient } from "../playground-client.js";
import { Recording } from "../recording.js";
import { takeSound } from "../sound.js";
import { useWords } from "../text/language.js";
import { History } from "../ui/history.js";
import { HotWordsOption, hotWordsOf } from "../ui/hot-words-option.js";
import { MinuteCost } from "../ui/minute-cost.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, PageHead, Trouble } from "../ui/parts.js";
import { listenSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { TakeAlong } from "../ui/take-along.js";
import type { ViewProps } from "../view-props.js";

const COLD_AFTER_MS = 3_000;
/** Beyond so many the oldest latencies do not count. */
const LATENCIES = 20;
/** So near to its end, the box of the text follows what is heard. */
const FOLLOW_PX = 80;

type State = "idle" | "connecting" | "listening" | "reconnecting" | "closing";

interface Running {
  readonly live: LiveTranscription;
  readonly recording: Recording;
  /** Closes the microphone. */
  readonly microphone: AbortController;
  /** Ends the session at once: nothing was said that somebody could wait for. */
  readonly session: AbortController;
  /** When the sample was heard that stands at the beginning of the session; null before there is one. */
  begunAtMs: number | null;
}

/** What is left of a session beside its text. */
interface HeardSession {
  readonly recording: Recording;
  /** Null when it did not end by itself. */
  readonly settled: LiveDone | null;
  readonly model: string | null;
}

export function Listen({ organization }: ViewProps) {
  const { t, number } = useWords();
  const [state, setState] = useState<State>("idle");
  const [finals, setFinals] = useState<readonly HeardLine[]>([]);
  const [partial, setPartial] = useState<HeardLine | null>(null);
  const [level, setLevel] = useState(0);
  const [seconds, setSeconds] = useState(0);
  const [latencies, setLatencies] = useState<readonly number[]>([]);
  const [done, setDone] = useState<LiveDone | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [hotWords, setHotWords] = useState("");
  /** The one that hears, as it says itself. */
  const [hearing, setHearing] = useState<string | null>(null);
  const chosenModel = useModels("transcription");
  const running = useRef<Running | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const isCold = useIsSlow(state === "connecting", COLD_AFTER_MS);
  useEffect(() => () => leave(running.current), []);
  useEffect(() => follow(box.current), [finals, partial]);

  const start = async () => {
    setProblem(null);
    setDone(null);
    setFinals([]);
    setPartial(null);
    setLatencies([]);
    setSeconds(0);
    setHearing(null);
    setState("connecting");
    // What this page plays would be heard as well.
    takeSound(() => {});
    const session = new AbortController();
    let model: string | null = null;
    const live = liveClient(organization.id).live({
      ...modelWish(chosenModel.model),
      words: true,
      hotWords: hotWordsOf(hotWords),
      signal: session.signal,
      onStatus: (status) => {
        if (status.type === "reconnecting") setState("reconnecting");
        if (status.type !== "ready") return;
        model = status.model;
        setHearing(model);
        setState("listening");
      },
    });
    // A session that ends by itself is told where its results are read.
    live.done.catch(() => {});
    const recording = new Recording(MICROPHONE_RATE_HZ);
    const current: Running = { live, recording, session, microphone: new AbortController(), begunAtMs: null };
    running.current = current;
    try {
      await openMicrophone({
        signal: current.microphone.signal,
        onAudio: (pcm) => {
          current.begunAtMs ??= performance.now() - (pcm.length / MICROPHONE_RATE_HZ) * 1_000;
          void live.send(pcm).catch(() => {});
          recording.add(pcm);
          setLevel(levelOf(pcm));
          setSeconds(Math.floor(recording.seconds));
        },
        onLost: () => {
          setProblem(new Problem("microphone_lost", null));
          stop(current);
        },
      });
    } catch {
      if (!current.microphone.signal.aborted) setProblem(new Problem("microphone", null));
      leave(current);
    }
    const lines: HeardLine[] = [];
    let unfinished: HeardLine | null = null;
    let settled: LiveDone | null = null;
    try {
      for await (const result of live) {
        const { type, text, start, end } = result;
        if (type === "partial") {
          unfinished = { text, start, end };
          setPartial(unfinished);
          continue;
        }
        unfinished = null;
        setPartial(null);
        if (text !== "") lines.push({ text, start, end, words: result.words });
        setFinals([...lines]);
        const latencyMs = performance.now() - (current.begunAtMs ?? 0) - end * 1_000;
        setLatencies((before) => [...before, latencyMs].slice(-LATENCIES));
      }
      settled = await live.done;
      setDone(settled);
    } catch (thrown) {
      if (!session.signal.aborted) setProblem(asProblem(thrown));
    } finally {
      current.microphone.abort();
      if (running.current === current) running.current = null;
      setState("idle");
      setLevel(0);
      // What was heard last is not lost with the connection.
      if (unfinished !== null && unfinished.text !== "") lines.push(unfinished);
      setPartial(null);
      setFinals([...lines]);
      if (lines.length > 0) keep(lines, { recording, settled, model });
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  const keep = (lines: readonly HeardLine[], { recording, settled, model }: HeardSession) => {
    const samples = recording.samples();
    const sound =
      samples === null
        ? null
        : new Blob([new Uint8Array(writeWav(samples, MICROPHONE_RATE_HZ))], { type: "audio/wav" });
    keepResult({
      kind: "listen",
      organizationId: organization.id,
      model,
      title: null,
      text: heardText(lines),
      seconds: recording.seconds,
      credits: settled?.unsettledConnections === 0 ? settled.creditsCharged : null,
      sound,
      downloads: [
        ...heardDownloads(lines),
        ...(sound === null ? [] : [{ ending: "wav", type: "audio/wav", content: () => sound }]),
      ],
    });
  };
  const stop = (current: Running | null) => {
    setState("closing");
    leave(current);
  };
  const last = latencies.at(-1);
  const isEmpty = finals.length === 0 && partial === null;
  return (
    <>
      <PageHead title={t("listen")} lead={t("listenLead")} />
      <ModelChoice of={chosenModel} isFixed={state !== "idle"} />
      {problem?.code === "microphone" ? (
        <div class="notice warning" role="alert">
          <div>
            <strong>{t("microphoneDenied")}</strong>
            <p>{t("microphoneDeniedLead")}</p>
          </div>
        </div>
      ) : (
        <Trouble problem={problem} />
      )}
      <section class="card live-session">
        <div class="actions start">
          {state === "idle" ? (
            <Button look="primary" onClick={() => void start()}>
              {t("start")}
            </Button>
          ) : (
            <Button look="danger" isBusy={state === "closing"} onClick={() => stop(running.current)}>
              {t("stop")}
            </Button>
          )}
          {state !== "idle" && (
            <span class="number" role="timer">
              {clock(seconds)}
            </span>
          )}
          <p class={`state ${state}`} role="status">
            {state === "connecting" && t(isCold ? "cold" : "connecting")}
            {state === "listening" && t("listening")}
            {state === "reconnecting" && t("reconnecting")}
            {state === "idle" &&
              done !== null &&
              t("ended", {
                seconds: t("seconds", { n: number(done.audioSeconds, 1) }),
                n: done.creditsCharged,
              })}
          </p>
          {state === "idle" && done === null && <MinuteCost kind="live" />}
        </div>
        <div class="meters">
          <label>
            {t("level")}
            <meter min={0} max={1} value={level} />
          </label>
          <div>
            <span>{t("latency")}</span>
            <strong class="number" data-latency={last === undefined ? "" : Math.round(last)}>
              {last === undefined ? t("noLatency") : t("milliseconds", { n: number(last) })}
            </strong>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard */}
        <div ref={box} class="heard" lang="kk" role="log" aria-label={t("text")} tabIndex={0}>
          {isEmpty && <p class="hint centered">{t("listenEmpty")}</p>}
          {finals.map(({ text, start }, index) => (
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
        {(finals.length > 0 || done !== null) && (
          <div class="live-foot">
            {finals.length > 0 && (
              <TakeAlong
                text={() => heardText(finals)}
                name="dauys-listen"
                downloads={heardDownloads(finals)}
              />
            )}
            {done !== null && (
              <>
                <p class="hint answered">{hearing}</p>
                <p class="hint mono">{done.sessionIds.join(" ")}</p>
              </>
            )}
          </div>
        )}
        {state === "idle" && <HotWordsOption value={hotWords} onInput={setHotWords} />}
      </section>
      <History kind="listen" organizationId={organization.id} />
      <Samples
        {...listenSamples(location.origin, {
          ...modelWish(chosenModel.model),
          hotWords: hotWordsOf(hotWords),
        })}
      />
    </>
  );
}

/** Keeps the newest words in sight, unless the reader has gone back to older ones. */
function follow(box: HTMLElement | null): void {
  const last = box?.lastElementChild;
  if (!box || !(last instanceof HTMLElement)) return;
  const below = box.scrollHeight - box.scrollTop - box.clientHeight - last.offsetHeight;
  if (below < FOLLOW_PX) box.scrollTop = box.scrollHeight;
}

/** Ends a session at whatever point it is: what was said is still heard to its end. */
function leave(running: Running | null): void {
  if (running === null) return;
  running.microphone.abort();
  if (running.begunAtMs === null) running.session.abort();
  else void running.live.close().catch(() => {});
}

/** Loudness between silence at -60 dB and full scale, 0 to 1. */
function levelOf(pcm: Int16Array): number {
  let sum = 0;
  for (const sample of pcm) sum += sample * sample;
  const decibels = 10 * Math.log10(sum / pcm.length / 2 ** 30 + 1e-9);
  return Math.max(0, Math.min(1, 1 + decibels / 60));
}
