import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { claimPlayback } from "../sound.js";
import { t } from "../text/language.js";

interface SoundButtonProps {
  /** Describes the sound to screen readers. */
  readonly name: string;
  readonly load: () => Blob | Promise<Blob>;
}

/** Plays a sound from the start, or stops it. */
export function SoundButton({ name, load }: SoundButtonProps) {
  const [state, setState] = useState<"silent" | "playing" | "broken">("silent");
  const audio = useRef<HTMLAudioElement | null>(null);
  const isLoading = useRef(false);
  const pause = useCallback(() => audio.current?.pause(), []);
  useEffect(
    () => () => {
      pause();
      if (audio.current !== null) URL.revokeObjectURL(audio.current.src);
    },
    [pause],
  );
  const toggle = async () => {
    if (state === "playing") return pause();
    if (isLoading.current) return;
    isLoading.current = true;
    try {
      audio.current ??= open(await load(), setState);
      claimPlayback(pause);
      audio.current.currentTime = 0;
      await audio.current.play();
    } catch (thrown) {
      // It is not an error to stop the sound before playback has started.
      const isStopped = thrown instanceof DOMException && thrown.name === "AbortError";
      if (!isStopped) setState("broken");
    } finally {
      isLoading.current = false;
    }
  };
  const action = t(state === "broken" ? "unplayable" : state === "playing" ? "stop" : "play");
  return (
    <button
      type="button"
      class="sound"
      aria-label={`${action}: ${name}`}
      disabled={state === "broken"}
      onClick={() => void toggle()}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={state === "playing" ? "M4 4h8v8H4z" : "M5 3.2v9.6L12.6 8z"} />
      </svg>
    </button>
  );
}

function open(sound: Blob, tell: (state: "silent" | "playing") => void): HTMLAudioElement {
  const audio = new Audio(URL.createObjectURL(sound));
  audio.addEventListener("play", () => tell("playing"));
  audio.addEventListener("pause", () => tell("silent"));
  audio.addEventListener("ended", () => tell("silent"));
  return audio;
}
