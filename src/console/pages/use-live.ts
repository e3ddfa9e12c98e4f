import { useEffect, useRef, useState } from "preact/hooks";
import type { LiveDone, LiveOptions, LiveTranscription, SentencePart } from "../../client/browser.js";
import { creditsChanged, Problem, toProblem } from "./api.js";
import { liveDownloads, liveText, wavBlob, wavDownload } from "./downloads.js";
import { addResult } from "./history.js";
import { MICROPHONE_RATE_HZ, openMicrophone } from "./microphone.js";
import { liveClient } from "./playground-client.js";
import { Recording } from "./recording.js";
import { claimPlayback } from "./sound.js";

/** The parts of a live session that a page shows. */
export interface LiveSession {
  readonly state: "idle" | "connecting" | "listening" | "reconnecting" | "closing";
  readonly finals: readonly SentencePart[];
  readonly partial: SentencePart | null;
  /** Loudness, 0 to 1. */
  readonly level: number;
  readonly seconds: number;
  /** Time from the end of the last utterance until its final arrived; null before the first final. */
  readonly latencyMs: number | null;
  /** Null until a session has ended normally. */
  readonly done: LiveDone | null;
  readonly problem: Problem | null;
  /** The transcribing model, as the service reports it. */
  readonly model: string | null;
}

const NEW: LiveSession = {
  state: "idle",
  finals: [],
  partial: null,
  level: 0,
  seconds: 0,
  latencyMs: null,
  done: null,
  problem: null,
  model: null,
};

interface Running {
  readonly live: LiveTranscription;
  readonly recording: Recording;
  /** Closes the microphone when aborted. */
  readonly microphone: AbortController;
  /** Drops the session when aborted; used if it has no speech whose transcript could still arrive. */
  readonly session: AbortController;
  readonly finals: SentencePart[];
  /** When the first sample was recorded; null before that. */
  startedAtMs: number | null;
  partial: SentencePart | null;
  model: string | null;
}

/** Transcribes microphone audio for an organization, one session at a time. */
export function useLive(organizationId: string) {
  const [shown, setShown] = useState(NEW);
  const running = useRef<Running | null>(null);
  useEffect(() => () => leave(running.current), []);
  const show = (change: Partial<LiveSession>) => setShown((before) => ({ ...before, ...change }));
  const stop = (session = running.current) => {
    show({ state: "closing" });
    leave(session);
  };
  const start = async (options: LiveOptions) => {
    setShown({ ...NEW, state: "connecting" });
    // Stop playback on this page, because the microphone would record it.
    claimPlayback(() => {});
    const session = new AbortController();
    const current: Running = {
      live: liveClient(organizationId).live({
        ...options,
        words: true,
        display: true,
        signal: session.signal,
        onStatus: (status) => {
          if (status.type === "reconnecting") show({ state: "reconnecting" });
          if (status.type !== "ready") return;
          current.model = status.model;
          show({ model: status.model, state: "listening" });
        },
      }),
      recording: new Recording(MICROPHONE_RATE_HZ),
      microphone: new AbortController(),
      session,
      finals: [],
      startedAtMs: null,
      partial: null,
      model: null,
    };
    running.current = current;
    // The loop over the results also reports a failed session.
    current.live.done.catch(() => {});
    await sendMicrophone(current, show, () => stop(current));
    let done: LiveDone | null = null;
    try {
      done = await readResults(current, show);
      show({ done });
    } catch (thrown) {
      if (!session.signal.aborted) show({ problem: toProblem(thrown) });
    } finally {
      current.microphone.abort();
      if (running.current === current) running.current = null;
      // Keep the last partial of a lost connection.
      if (current.partial !== null && current.partial.text !== "") current.finals.push(current.partial);
      show({ state: "idle", level: 0, partial: null, finals: [...current.finals] });
      if (current.finals.length > 0) keep(organizationId, current, done);
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  return { ...shown, start, stop: () => stop() };
}

type Show = (change: Partial<LiveSession>) => void;

/** Opens the microphone, then sends and records its audio. */
async function sendMicrophone(current: Running, show: Show, stop: () => void): Promise<void> {
  const { live, recording, microphone } = current;
  try {
    await openMicrophone({
      signal: microphone.signal,
      onAudio: (pcm) => {
        current.startedAtMs ??= performance.now() - (pcm.length / MICROPHONE_RATE_HZ) * 1_000;
        void live.send(pcm).catch(() => {});
        recording.add(pcm);
        show({ level: levelOf(pcm), seconds: Math.floor(recording.seconds) });
      },
      onLost: () => {
        show({ problem: new Problem("microphone_lost", null) });
        stop();
      },
    });
  } catch {
    if (!microphone.signal.aborted) show({ problem: new Problem("microphone", null) });
    leave(current);
  }
}

/** Shows results until the session ends. */
async function readResults(current: Running, show: Show): Promise<LiveDone> {
  for await (const result of current.live) {
    const { text, start, end } = result;
    if (result.type === "partial") {
      current.partial = { text, start, end };
      show({ partial: current.partial });
      continue;
    }
    current.partial = null;
    if (text !== "") current.finals.push(result);
    const latencyMs = performance.now() - (current.startedAtMs ?? 0) - end * 1_000;
    show({ partial: null, finals: [...current.finals], latencyMs });
  }
  return current.live.done;
}

function keep(organizationId: string, { finals, recording, model }: Running, done: LiveDone | null): void {
  const samples = recording.samples();
  const sound = samples === null ? null : wavBlob(samples, MICROPHONE_RATE_HZ);
  addResult({
    kind: "listen",
    organizationId,
    model,
    title: null,
    text: () => liveText({ finals, done }),
    seconds: recording.seconds,
    credits: done?.unsettledConnections === 0 ? done.creditsCharged : null,
    sound,
    downloads: [...liveDownloads({ finals, done }), ...(sound === null ? [] : [wavDownload(sound)])],
  });
}

/** Ends a session in any state. Audio that was sent is still transcribed. */
function leave(running: Running | null): void {
  if (running === null) return;
  running.microphone.abort();
  if (running.startedAtMs === null) running.session.abort();
  else void running.live.close().catch(() => {});
}

/** Returns the loudness, from 0 (-60 dB) to 1 (full scale). */
function levelOf(pcm: Int16Array): number {
  let sum = 0;
  for (const sample of pcm) sum += sample * sample;
  const decibels = 10 * Math.log10(sum / pcm.length / 2 ** 30 + 1e-9);
  return Math.max(0, Math.min(1, 1 + decibels / 60));
}
