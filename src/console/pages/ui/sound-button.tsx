import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { claimPlayback } from "../sound.js";
import { useTranslation } from "../text/language.js";

interface SoundButtonProps {
  /** What is heard, for those who do not see the button's place. */
  readonly name: string;
  readonly load: () => Blob | Promise<Blob>;
}

/** Plays one sound from its beginning, and stops it. */
export function SoundButton({ name, load }: SoundButtonProps) {
  const { t } = useTranslation();
  const [state, setState] = useState<"silent" | "playing" | "broken">("silent");
  const audio = useRef<HTMLAudioElement | null>(null);
  const isLoading = useRef(false);
  const makeQuiet = useCallback(() => audio.current?.pause(), []);
  useEffect(
    () => () => {
      makeQuiet();
      if (audio.current !== null) URL.revokeObjectURL(audio.current.src);
    },
    [makeQuiet],
  );
  const toggle = async () => {
    if (state === "playing") return makeQuiet();
    if (isLoading.current) return;
    isLoading.current = true;
    try {
      audio.current ??= open(await load(), setState);
      claimPlayback(makeQuiet);
      audio.current.currentTime = 0;
      await audio.current.play();
    } catch (thrown) {
      // A sound that is stopped before it begins is none that is broken.
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
