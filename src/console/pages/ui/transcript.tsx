import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../../client/browser.js";
import { formatSrt, formatVtt, toCues } from "../../../domain/text/subtitles.js";
import { save } from "../save.js";
import { useWords } from "../text/language.js";
import { Button } from "./parts.js";

interface TranscriptProps {
  readonly transcript: Transcribed;
  /** A file of the user's, or the address from which the service has fetched it. */
  readonly source: File | { readonly url: string };
}

/** A transcript with its sound: the word that is heard stands out, and a word that is clicked is heard. */
export function Transcript({ transcript, source }: TranscriptProps) {
  const { t, number } = useWords();
  const words = transcript.words ?? [];
  const audio = useRef<HTMLAudioElement>(null);
  // Nothing is loaded from elsewhere, sound neither: for an address the user may bring the file along.
  const [file, setFile] = useState(source instanceof File ? source : null);
  const [heard, setHeard] = useState(-1);
  const [sought, setSought] = useState("");
  const url = useMemo(() => (file === null ? null : URL.createObjectURL(file)), [file]);
  useEffect(() => () => (url === null ? undefined : URL.revokeObjectURL(url)), [url]);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  // At each frame: the browser's own `timeupdate` comes four times a second, and short words would never show.
  const follow = () => {
    cancelAnimationFrame(frame.current);
    if (audio.current === null) return;
    const { currentTime, paused, ended } = audio.current;
    setHeard(words.findIndex(({ start, end }) => start <= currentTime && currentTime < end));
    if (!paused && !ended) frame.current = requestAnimationFrame(follow);
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
    <section class="card transcript" aria-label={t("transcribe")}>
      {url === null ? (
        <Elsewhere url={source instanceof File ? "" : source.url} onFile={setFile} />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: the transcript below is the caption
        <audio ref={audio} src={url} controls onPlay={follow} onSeeked={follow} onPause={follow} />
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
        <section class="words" aria-label={t("text")} tabIndex={0}>
          {words.map(({ word, start }, index) => {
            const looks = [index === heard && "now", found[index] && "found"].filter(Boolean).join(" ");
            return (
              <Fragment key={index}>
                {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut with the mouse; the player has controls */}
                {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
                <span class={looks} onClick={() => play(start)}>
                  {word}
                </span>{" "}
              </Fragment>
            );
          })}
        </section>
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

interface ElsewhereProps {
  readonly url: string;
  readonly onFile: (file: File) => void;
}

/** Says why there is no player, and what to do about it. */
function Elsewhere({ url, onFile }: ElsewhereProps) {
  const { t } = useWords();
  return (
    <div class="elsewhere">
      <p class="hint">{t("elsewhere")}</p>
      <div class="actions start">
        <label class="button plain">
          {t("chooseFile")}
          <input
            type="file"
            accept="audio/*,video/*"
            class="hidden"
            onChange={(event) => {
              const chosen = event.currentTarget.files?.[0];
              if (chosen !== undefined) onFile(chosen);
            }}
          />
        </label>
        <a class="button quiet" href={url} target="_blank" rel="noreferrer">
          {t("openAddress")}
        </a>
      </div>
    </div>
  );
}
