import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveDone, LiveTranscription } from "../../../client/browser.js";
import { asProblem, creditsChanged, Problem } from "../api.js";
import { useIsSlow } from "../hooks.js";
import { MICROPHONE_RATE_HZ, openMicrophone } from "../microphone.js";
import { liveClient } from "../playground-client.js";
import { useWords } from "../text/language.js";
import { Button, PageHead, Trouble } from "../ui/parts.js";
import { listenSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import type { ViewProps } from "../view-props.js";

const COLD_AFTER_MS = 3_000;
/** Beyond so many the oldest latencies do not count. */
const LATENCIES = 20;

type State = "idle" | "connecting" | "listening" | "reconnecting" | "closing";

interface Running {
  readonly live: LiveTranscription;
  /** Closes the microphone. */
  readonly microphone: AbortController;
  /** Ends the session at once: nothing was said that somebody could wait for. */
  readonly session: AbortController;
  /** When the sample was heard that stands at the beginning of the session; null before there is one. */
  begunAtMs: number | null;
}

export function Listen({ organization }: ViewProps) {
  const { t, number } = useWords();
  const [state, setState] = useState<State>("idle");
  const [finals, setFinals] = useState<readonly string[]>([]);
  const [partial, setPartial] = useState("");
  const [level, setLevel] = useState(0);
  const [latencies, setLatencies] = useState<readonly number[]>([]);
  const [done, setDone] = useState<LiveDone | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const running = useRef<Running | null>(null);
  const isCold = useIsSlow(state === "connecting", COLD_AFTER_MS);
  useEffect(() => () => leave(running.current), []);

  const start = async () => {
    setProblem(null);
    setDone(null);
    setFinals([]);
    setPartial("");
    setLatencies([]);
    setState("connecting");
    const session = new AbortController();
    const live = liveClient(organization.id).live({
      signal: session.signal,
      onStatus: ({ type }) => {
        if (type === "ready") setState("listening");
        if (type === "reconnecting") setState("reconnecting");
      },
    });
    // A session that ends by itself is told where its results are read.
    live.done.catch(() => {});
    const current: Running = { live, session, microphone: new AbortController(), begunAtMs: null };
    running.current = current;
    try {
      await openMicrophone({
        signal: current.microphone.signal,
        onAudio: (pcm) => {
          current.begunAtMs ??= performance.now() - (pcm.length / MICROPHONE_RATE_HZ) * 1_000;
          void live.send(pcm).catch(() => {});
          setLevel(levelOf(pcm));
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
    try {
      for await (const result of live) {
        if (result.type === "partial") {
          setPartial(result.text);
          continue;
        }
        setPartial("");
        if (result.text !== "") setFinals((before) => [...before, result.text]);
        const latencyMs = performance.now() - (current.begunAtMs ?? 0) - result.end * 1_000;
        setLatencies((before) => [...before, latencyMs].slice(-LATENCIES));
      }
      setDone(await live.done);
    } catch (thrown) {
      if (!session.signal.aborted) setProblem(asProblem(thrown));
    } finally {
      current.microphone.abort();
      if (running.current === current) running.current = null;
      setState("idle");
      setLevel(0);
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  const stop = (current: Running | null) => {
    setState("closing");
    leave(current);
  };
  const last = latencies.at(-1);
  const isEmpty = finals.length === 0 && partial === "";
  return (
    <>
      <PageHead title={t("listen")} lead={t("listenLead")} />
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
        </div>
        <div class="meters">
          <label>
            {t("level")}
            <meter min={0} max={1} value={level} />
          </label>
          <div>
            <span>{t("latency")}</span>
            <strong class="number" data-latency={last === undefined ? "" : Math.round(last)}>
              {last === undefined ? t("noLatency") : `${number(last)} ms`}
            </strong>
          </div>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard */}
        <div class="heard" lang="kk" role="log" aria-label={t("text")} tabIndex={0}>
          {isEmpty && <p class="hint centered">{t("listenLead")}</p>}
          {finals.map((text, index) => (
            <p key={index} class="final">
              {text}
            </p>
          ))}
          {partial !== "" && (
            <p class="partial" aria-hidden="true">
              {partial}
            </p>
          )}
        </div>
        {done !== null && <p class="hint mono">{done.sessionIds.join(" ")}</p>}
      </section>
      <Samples {...listenSamples(location.origin)} />
    </>
  );
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
