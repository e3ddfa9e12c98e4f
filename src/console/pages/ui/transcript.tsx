import { Fragment } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Transcribed } from "../../../client/browser.js";
import { clock } from "../clock.js";
import { transcriptDownloads } from "../downloads.js";
import type { RecordingSource } from "../history.js";
import { toParagraphs } from "../paragraphs.js";
import { takeSound } from "../sound.js";
import { useWords } from "../text/language.js";
import { TakeAlong } from "./take-along.js";

interface TranscriptProps {
  readonly transcript: Transcribed;
  readonly source: RecordingSource;
}

/** A transcript with its sound: the word that is heard stands out, and a word or a time that is clicked is heard. */
export function Transcript({ transcript, source }: TranscriptProps) {
  const { t, number } = useWords();
  const words = transcript.words ?? [];
  const paragraphs = useMemo(() => toParagraphs(words, transcript.segments ?? []), [transcript]);
  const audio = useRef<HTMLAudioElement>(null);
  // Nothing is loaded from elsewhere, sound neither: for an address the user may bring the file along.
  const [file, setFile] = useState(source instanceof File ? source : null);
  const [heard, setHeard] = useState(-1);
  const [sought, setSought] = useState("");
  const url = useMemo(() => (file === null ? null : URL.createObjectURL(file)), [file]);
  useEffect(() => () => (url === null ? undefined : URL.revokeObjectURL(url)), [url]);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const makeQuiet = useCallback(() => audio.current?.pause(), []);
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
  return (
    <section class="card transcript" aria-label={t("transcribe")}>
      {source instanceof File && <p class="file-name">{source.name}</p>}
      {url === null ? (
        <Elsewhere url={source instanceof File ? "" : source.url} onFile={setFile} />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: the transcript below is the caption
        <audio
          ref={audio}
          src={url}
          controls
          onPlay={() => {
            takeSound(makeQuiet);
            follow();
          }}
          onSeeked={follow}
          onPause={follow}
        />
      )}
      {words.length > 0 && (
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
          <TakeAlong
            text={() => transcript.text}
            name={fileNameOf(source)}
            downloads={transcriptDownloads(transcript)}
          />
        </div>
      )}
      {words.length === 0 ? (
        <p class="hint centered">{transcript.text || t("noSpeech")}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
        <section class="words" aria-label={t("text")} tabIndex={0}>
          {paragraphs.map((paragraph) => (
            <div key={paragraph.from} class="paragraph">
              <button
                type="button"
                class="time number"
                aria-label={`${t("play")}: ${clock(paragraph.start)}`}
                disabled={url === null}
                onClick={() => play(paragraph.start)}
              >
                {clock(paragraph.start)}
              </button>
              <p>
                {paragraph.words.map(({ word, start }, place) => {
                  const index = paragraph.from + place;
                  const looks = [index === heard && "now", found[index] && "found"];
                  return (
                    <Fragment key={index}>
                      {place > 0 && " "}
                      {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut with the mouse; times and player are buttons */}
                      {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
                      <span class={looks.filter(Boolean).join(" ")} onClick={() => play(start)}>
                        {word}
                      </span>
                    </Fragment>
                  );
                })}
              </p>
            </div>
          ))}
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
        <span class="answered">{transcript.model}</span>
        <span class="mono">{transcript.request_id}</span>
      </p>
    </section>
  );
}

/** A recording's name without its ending. */
function fileNameOf(source: RecordingSource): string {
  const name = source instanceof File ? source.name : "";
  return name.replace(/\.[^.]*$/, "") || "transcript";
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
