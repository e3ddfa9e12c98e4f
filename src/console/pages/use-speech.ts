import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { concatenatePcm } from "../../../core/domain/audio/pcm.js";
import { writeWav } from "../../../core/domain/audio/wav.js";
import { SPEECH_RATE_HZ } from "../../../core/domain/synthesis/speech-rate.js";
import type { WordTime } from "../../../core/domain/synthesis/word-time.js";
import type { SpeechRequest } from "../../client/browser.js";
import { type PlayerState, SentencePlayer } from "../../player/sentence-player.js";
import { asProblem, creditsChanged, type Problem } from "./api.js";
import { keepResult } from "./history.js";
import { forgetRefusedKey, playgroundClient } from "./playground-client.js";
import { takeSound } from "./sound.js";

const WAV_HEADER_BYTES = 44;

/** What has arrived of a speech. */
export interface Heard {
  /** As it was sent: the field may say something else by now. */
  readonly text: string;
  readonly samples: Int16Array;
  readonly requestId: string | null;
  /** The model that speaks. */
  readonly model: string | null;
  readonly firstSoundMs: number;
  readonly state: "arriving" | "complete" | "stopped";
  /** 0 to 1, of the text; null while nothing tells. */
  readonly share: number | null;
}

export interface Speech {
  readonly heard: Heard | null;
  readonly isBusy: boolean;
  readonly problem: Problem | null;
  readonly state: PlayerState;
  readonly positionSeconds: number;
  readonly word: WordTime | null;
  speak(request: SpeechRequest, options: SpeakWishes): void;
  stop(): void;
  /** Pauses, or plays on; after the end, from the beginning. */
  toggle(): void;
  seek(seconds: number): void;
}

interface SpeakWishes {
  readonly hasWordTimes: boolean;
  /** What the whole text costs. */
  readonly credits: number;
  /** Of the voice, for the list of results. */
  readonly title: string;
}

/** Speaks texts of an organization, one at a time, and plays them as they arrive. */
export function useSpeech(organizationId: string): Speech {
  const [heard, setHeard] = useState<Heard | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [state, setState] = useState<PlayerState>("ended");
  const [positionSeconds, setPosition] = useState(0);
  const [word, setWord] = useState<WordTime | null>(null);
  const player = useRef<SentencePlayer | null>(null);
  const context = useRef<AudioContext | null>(null);
  const running = useRef<AbortController | null>(null);
  const makeQuiet = useCallback(() => player.current?.pause(), []);

  useEffect(
    () => () => {
      running.current?.abort();
      player.current?.stop();
      context.current?.close().catch(() => {});
      // One that is closed makes no sound any more, and cannot be closed again.
      context.current = null;
    },
    [],
  );
  const look = () => {
    setPosition(player.current?.positionSeconds ?? 0);
    setWord(player.current?.currentWord ?? null);
  };
  useEffect(() => {
    let frame = 0;
    // At each frame, so that short words show too; and once where it stands.
    const follow = () => {
      look();
      if (state === "playing") frame = requestAnimationFrame(follow);
    };
    follow();
    return () => cancelAnimationFrame(frame);
  }, [state]);

  /** A player that sounds, within the click that browsers want before a page makes sound. */
  const openPlayer = () => {
    context.current ??= new AudioContext({ sampleRate: SPEECH_RATE_HZ });
    context.current.resume().catch(() => {});
    takeSound(makeQuiet);
    const opened = new SentencePlayer({ context: context.current });
    opened.on("state", (event) => setState(event.state));
    player.current = opened;
    return opened;
  };
  const stop = () => {
    running.current?.abort();
    player.current?.stop();
    setBusy(false);
  };
  const speak: Speech["speak"] = async (request, { hasWordTimes, credits, title }) => {
    stop();
    const control = new AbortController();
    running.current = control;
    setBusy(true);
    setProblem(null);
    setHeard(null);
    setPosition(0);
    const current = openPlayer();
    const { text } = request;
    const length = [...text].length;
    const pieces: Int16Array[] = [];
    const startedAtMs = performance.now();
    let firstSoundMs = 0;
    let requestId: string | null = null;
    let model: string | null = null;
    let share: number | null = null;
    const show = (state: Heard["state"]) => {
      if (running.current !== control || pieces.length === 0) return;
      const samples = concatenatePcm(pieces);
      setHeard({ text, samples, requestId, model, firstSoundMs, state, share });
    };
    let isComplete = false;
    try {
      const client = await playgroundClient(organizationId);
      const options = { signal: control.signal, timestamps: hasWordTimes, frames: "chunks" } as const;
      for await (const { wav, words, usage } of client.speakStream(request, options)) {
        firstSoundMs ||= Math.round(performance.now() - startedAtMs);
        requestId = usage.requestId;
        model = usage.model;
        share = (words?.at(-1)?.to ?? 0) / length || share;
        pieces.push(new Int16Array(wav.slice(WAV_HEADER_BYTES).buffer));
        current.push(wav, words);
        show("arriving");
      }
      isComplete = true;
    } catch (thrown) {
      forgetRefusedKey(thrown);
      if (running.current === control) setProblem(asProblem(thrown));
    }
    show(isComplete ? "complete" : "stopped");
    if (!control.signal.aborted) current.end();
    if (running.current === control) setBusy(false);
    creditsChanged.dispatchEvent(new Event("changed"));
    if (pieces.length > 0) keep(concatenatePcm(pieces));

    function keep(samples: Int16Array) {
      const sound = new Blob([new Uint8Array(writeWav(samples, SPEECH_RATE_HZ))], { type: "audio/wav" });
      keepResult({
        kind: "speak",
        organizationId,
        model,
        title,
        text,
        seconds: samples.length / SPEECH_RATE_HZ,
        // What is stopped is charged as far as it was delivered, which only the ledger knows.
        credits: isComplete ? credits : null,
        sound,
        downloads: [{ ending: "wav", type: "audio/wav", content: () => sound }],
      });
    }
  };
  return {
    heard,
    isBusy,
    problem,
    state,
    positionSeconds,
    word,
    speak,
    stop,
    toggle: () => {
      if (state === "playing" || state === "waiting") return makeQuiet();
      takeSound(makeQuiet);
      player.current?.resume();
    },
    seek: (seconds) => {
      player.current?.seek(seconds);
      look();
    },
  };
}
