import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { concatenatePcm } from "../../../core/domain/audio/pcm.js";
import { SPEECH_RATE_HZ } from "../../../core/domain/synthesis/speech-rate.js";
import type { WordTime } from "../../../core/domain/synthesis/word-time.js";
import type { SpeechRequest } from "../../client/browser.js";
import { type PlayerState, SentencePlayer } from "../../player/sentence-player.js";
import { creditsChanged, type Problem, toProblem } from "./api.js";
import { wavBlob, wavDownload } from "./downloads.js";
import { addResult } from "./history.js";
import { dropRejectedKey, playgroundClient } from "./playground-client.js";
import { claimPlayback } from "./sound.js";

const WAV_HEADER_BYTES = 44;
const NO_FACTS = { requestId: null, model: null, firstSoundMs: 0, share: null };

/** The part of a speech that has arrived. */
export interface ReceivedSpeech {
  /** Text as sent; the text field may have changed since. */
  readonly text: string;
  readonly samples: Int16Array;
  readonly requestId: string | null;
  readonly model: string | null;
  readonly firstSoundMs: number;
  readonly state: "arriving" | "complete" | "stopped";
  /** Share of the text that was spoken, 0 to 1; null if the model gives no word times. */
  readonly share: number | null;
}

type SpeechFacts = Omit<ReceivedSpeech, "samples" | "state">;

interface SpeakOptions {
  readonly hasWordTimes: boolean;
  /** Price of the whole text. */
  readonly credits: number;
  /** Name of the voice, for the list of results. */
  readonly title: string;
}

export type Speech = ReturnType<typeof useSpeech>;

/** Synthesizes texts for an organization, one at a time, and plays them as they arrive. */
export function useSpeech(organizationId: string) {
  const [received, setReceived] = useState<ReceivedSpeech | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const running = useRef<AbortController | null>(null);
  const player = usePlayer();
  useEffect(() => () => running.current?.abort(), []);
  const stop = () => {
    running.current?.abort();
    player.stop();
    setBusy(false);
  };
  const speak = async (request: SpeechRequest, options: SpeakOptions) => {
    stop();
    const control = new AbortController();
    running.current = control;
    const { signal } = control;
    const isCurrent = () => running.current === control;
    setBusy(true);
    setProblem(null);
    setReceived(null);
    const sentences = player.open();
    const startedAtMs = performance.now();
    const pieces: Int16Array[] = [];
    let facts: SpeechFacts = { ...NO_FACTS, text: request.text };
    const show = (state: ReceivedSpeech["state"]) => {
      const speech = { ...facts, state, samples: concatenatePcm(pieces) };
      if (isCurrent() && pieces.length > 0) setReceived(speech);
      return speech;
    };
    let outcome: ReceivedSpeech["state"] = "stopped";
    try {
      const client = await playgroundClient(organizationId);
      const streamOptions = { signal, timestamps: options.hasWordTimes, frames: "chunks" } as const;
      for await (const { wav, words, usage } of client.speakStream(request, streamOptions)) {
        facts = {
          ...facts,
          requestId: usage.requestId,
          model: usage.model,
          firstSoundMs: facts.firstSoundMs || Math.round(performance.now() - startedAtMs),
          share: (words?.at(-1)?.to ?? 0) / [...request.text].length || facts.share,
        };
        pieces.push(new Int16Array(wav.slice(WAV_HEADER_BYTES).buffer));
        sentences.push(wav, words);
        show("arriving");
      }
      outcome = "complete";
    } catch (thrown) {
      dropRejectedKey(thrown);
      if (isCurrent()) setProblem(toProblem(thrown));
    }
    const last = show(outcome);
    if (!signal.aborted) sentences.end();
    if (isCurrent()) setBusy(false);
    finish(organizationId, last, options);
  };
  return { ...player, received, isBusy, problem, speak, stop };
}

function finish(organizationId: string, speech: ReceivedSpeech, { title, credits }: SpeakOptions): void {
  creditsChanged.dispatchEvent(new Event("changed"));
  if (speech.samples.length === 0) return;
  const sound = wavBlob(speech.samples, SPEECH_RATE_HZ);
  addResult({
    kind: "speak",
    organizationId,
    model: speech.model,
    title,
    text: () => speech.text,
    seconds: speech.samples.length / SPEECH_RATE_HZ,
    // Only the delivered part of a stopped speech is charged, and only the ledger knows how much that is.
    credits: speech.state === "complete" ? credits : null,
    sound,
    downloads: [wavDownload(sound)],
  });
}

/** Plays one speech at a time. */
function usePlayer() {
  const [state, setState] = useState<PlayerState>("ended");
  const [positionSeconds, setPosition] = useState(0);
  const [word, setWord] = useState<WordTime | null>(null);
  const player = useRef<SentencePlayer | null>(null);
  const context = useRef<AudioContext | null>(null);
  const pause = useCallback(() => player.current?.pause(), []);
  const stop = () => player.current?.stop();
  useEffect(
    () => () => {
      stop();
      context.current?.close().catch(() => {});
      // A closed context plays nothing, and throws if closed again.
      context.current = null;
    },
    [],
  );
  const update = () => {
    setPosition(player.current?.positionSeconds ?? 0);
    setWord(player.current?.currentWord ?? null);
  };
  useEffect(() => {
    let frame = 0;
    // Update on each frame, so that short words show too; update once if nothing plays.
    const follow = () => {
      update();
      if (state === "playing") frame = requestAnimationFrame(follow);
    };
    follow();
    return () => cancelAnimationFrame(frame);
  }, [state]);
  return {
    state,
    positionSeconds,
    word,
    stop,
    /** Call this in a click handler: browsers block audio that no user gesture started. */
    open: () => {
      context.current ??= new AudioContext({ sampleRate: SPEECH_RATE_HZ });
      context.current.resume().catch(() => {});
      claimPlayback(pause);
      const opened = new SentencePlayer({ context: context.current });
      opened.on("state", (event) => setState(event.state));
      player.current = opened;
      setPosition(0);
      return opened;
    },
    /** Pauses or resumes playback. After the end, plays from the start. */
    toggle: () => {
      if (state === "playing" || state === "waiting") return pause();
      claimPlayback(pause);
      player.current?.resume();
    },
    seek: (seconds: number) => {
      player.current?.seek(seconds);
      update();
    },
  };
}
