import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../../client/browser.js";
import { formatSrt, formatVtt, toCues } from "../../../domain/text/subtitles.js";
import { save } from "../save.js";
import { useWords } from "../text/language.js";
import { Button } from "./parts.js";

interface TranscriptProps {
  readonly transcript: Transcribed;
  /** Null for a recording that only the service has fetched. */
  readonly file: File | null;
}

/** A transcript with its sound: the word that is heard stands out, and a word that is clicked is heard. */
export function Transcript({ transcript, file }: TranscriptProps) {
  const { t, number } = useWords();
  const words = transcript.words ?? [];
  const audio = useRef<HTMLAudioElement>(null);
  const [heard, setHeard] = useState(-1);
  const [sought, setSought] = useState("");
  const url = useMemo(() => (file === null ? null : URL.createObjectURL(file)), [file]);
  useEffect(() => () => (url === null ? undefined : URL.revokeObjectURL(url)), [url]);
  const follow = () => {
    const now = audio.current?.currentTime ?? 0;
    setHeard(words.findIndex(({ start, end }) => start <= now && now < end));
  };
  const play = (start: number) => {
    if (audio.current === null) return;
    audio.current.currentTime = start;
    void audio.current.play();
  };
  const needle = sought.trim().toLowerCase();
  const found = words.map(({ word }) => needle !== "" && word.includes(needle));
  const seconds = (value: number) => t("seconds", { n: number(value, 1) });
  const downloads = [
    ["txt", "text/plain", () => transcript.text],
    ["srt", "application/x-subrip", () => formatSrt(toCues(words))],
    ["vtt", "text/vtt", () => formatVtt(toCues(words))],
    ["json", "application/json", () => JSON.stringify(transcript, null, 2)],
  ] as const;
  return (
    <section class="card transcript" aria-label={t("text")}>
      {url !== null && (
        // biome-ignore lint/a11y/useMediaCaption: the transcript below is the caption
        <audio ref={audio} src={url} controls onTimeUpdate={follow} />
      )}
      <div class="transcript-head">
        <input
          type="search"
          aria-label={t("search")}
          placeholder={t("search")}
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
        <span class="hint" role="status">
          {needle === "" ? "" : t("found", { n: found.filter(Boolean).length })}
        </span>
        <div class="downloads">
          {downloads.map(([name, type, content]) => (
            <Button key={name} look="quiet" onClick={() => save(`transcript.${name}`, type, content())}>
              {name}
            </Button>
          ))}
        </div>
      </div>
      {words.length === 0 ? (
        <p class="hint centered">{transcript.text || t("noSpeech")}</p>
      ) : (
        <p class="words">
          {words.map(({ word, start }, index) => {
            const looks = [index === heard && "now", found[index] && "found"].filter(Boolean).join(" ");
            return (
              <>
                {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut with the mouse; the player has controls */}
                {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
                <span key={start} class={looks} onClick={() => play(start)}>
                  {word}
                </span>{" "}
              </>
            );
          })}
        </p>
      )}
      <p class="hint facts">
        <span>
          {t("facts", {
            duration: seconds(transcript.audio_seconds),
            work: seconds(transcript.processing_seconds),
          })}
        </span>
        <span>{t("creditsUnit", { n: transcript.credits_charged })}</span>
        <span class="mono">{transcript.request_id}</span>
      </p>
    </section>
  );
}
