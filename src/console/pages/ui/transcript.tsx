import { Fragment } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimedWord } from "../../../../core/domain/decoding/words.js";
import type { Transcribed } from "../../../client/browser.js";
import { clock } from "../clock.js";
import { nameOfSpeaker, transcriptDownloads, transcriptText } from "../downloads.js";
import type { RecordingSource } from "../history.js";
import { toParagraphs } from "../paragraphs.js";
import { type ShownWord, shownWords } from "../shown-words.js";
import { claimPlayback } from "../sound.js";
import { number, t } from "../text/language.js";
import { textForm } from "../text-form.js";
import { ExportButtons } from "./export-buttons.js";
import { TextFormChoice } from "./text-form-choice.js";

interface TranscriptProps {
  readonly transcript: Transcribed;
  readonly source: RecordingSource;
}

/** A transcript with a player: follows the spoken word, and plays from any word or time that is clicked. */
export function Transcript({ transcript, source }: TranscriptProps) {
  const form = textForm.use();
  const words = useMemo(() => shownWords(transcript, form), [transcript, form]);
  // The page's policy allows no audio from other sites. If the recording came from a link, the user may
  // choose its file.
  const [file, setFile] = useState(source instanceof File ? source : null);
  const [sought, setSought] = useState("");
  const player = useAudio(file, words);
  const needle = sought.trim().toLowerCase();
  const found = words.map(({ texts }) => needle !== "" && texts.some((text) => text.includes(needle)));
  return (
    <section class="card transcript" aria-label={t("transcribe")}>
      {source instanceof File && <p class="file-name">{source.name}</p>}
      {file === null ? (
        <NoPlayer url={source instanceof File ? "" : source.url} onFile={setFile} />
      ) : (
        <audio {...player.audio} controls />
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
          <TextFormChoice />
          <ExportButtons
            text={() => transcriptText(transcript)}
            name={fileNameOf(source)}
            downloads={transcriptDownloads(transcript)}
          />
        </div>
      )}
      {words.length === 0 ? (
        <p class="hint centered">{transcriptText(transcript) || t("noSpeech")}</p>
      ) : (
        <Words
          words={words}
          segments={transcript.segments ?? []}
          found={found}
          current={player.current}
          onPlay={file === null ? null : player.playFrom}
        />
      )}
      <Facts transcript={transcript} />
    </section>
  );
}

/** Plays a file, and finds the word that is being spoken. */
function useAudio(file: File | null, words: readonly TimedWord[]) {
  const ref = useRef<HTMLAudioElement>(null);
  const [current, setCurrent] = useState(-1);
  const src = useMemo(() => (file === null ? "" : URL.createObjectURL(file)), [file]);
  useEffect(() => () => URL.revokeObjectURL(src), [src]);
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const pause = useCallback(() => ref.current?.pause(), []);
  // The check runs on each frame, because `timeupdate` fires only four times a second, too seldom for short
  // words.
  const follow = () => {
    cancelAnimationFrame(frame.current);
    if (ref.current === null) return;
    const { currentTime, paused, ended } = ref.current;
    setCurrent(words.findIndex(({ start, end }) => start <= currentTime && currentTime < end));
    if (!paused && !ended) frame.current = requestAnimationFrame(follow);
  };
  const playFrom = (start: number) => {
    if (ref.current === null) return;
    ref.current.currentTime = start;
    void ref.current.play();
  };
  const onPlay = () => {
    claimPlayback(pause);
    follow();
  };
  return { audio: { ref, src, onPlay, onSeeked: follow, onPause: follow }, current, playFrom };
}

interface WordsProps {
  readonly words: readonly ShownWord[];
  readonly segments: NonNullable<Transcribed["segments"]>;
  /** States for each word whether the search matches it. */
  readonly found: readonly boolean[];
  /** The index of the word that is being spoken, or -1. */
  readonly current: number;
  /** Null if there is no player. */
  readonly onPlay: ((start: number) => void) | null;
}

function Words({ words: all, segments, found, current, onPlay }: WordsProps) {
  const paragraphs = useMemo(() => toParagraphs(all, segments), [all, segments]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section class="words" aria-label={t("text")} tabIndex={0}>
      {paragraphs.map(({ from, start, words, speaker }, nth) => (
        <div key={from} class="paragraph">
          <button
            type="button"
            class="time number"
            aria-label={`${t("play")}: ${clock(start)}`}
            disabled={onPlay === null}
            onClick={() => onPlay?.(start)}
          >
            {clock(start)}
          </button>
          <p>
            {speaker !== undefined && speaker !== paragraphs[nth - 1]?.speaker && (
              <strong class="speaker">{nameOfSpeaker(speaker)}</strong>
            )}
            {words.map(({ word, start }, place) => {
              const index = from + place;
              const looks = [index === current && "now", found[index] && "found"];
              return (
                <Fragment key={index}>
                  {place > 0 && !words[place - 1]!.word.endsWith("-") && " "}
                  {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut with the mouse; times and player are buttons */}
                  {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above */}
                  <span class={looks.filter(Boolean).join(" ")} onClick={() => onPlay?.(start)}>
                    {word}
                  </span>
                </Fragment>
              );
            })}
          </p>
        </div>
      ))}
    </section>
  );
}

function Facts({ transcript }: { readonly transcript: Transcribed }) {
  const seconds = (value: number) => t("seconds", { n: number(value, 1) });
  return (
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
  );
}

/** The recording's name without its extension. */
function fileNameOf(source: RecordingSource): string {
  const name = source instanceof File ? source.name : "";
  return name.replace(/\.[^.]*$/, "") || "transcript";
}

interface NoPlayerProps {
  readonly url: string;
  readonly onFile: (file: File) => void;
}

/** Explains why there is no player, and lets the user choose the file. */
function NoPlayer({ url, onFile }: NoPlayerProps) {
  return (
    <div class="elsewhere">
      <p class="hint">{t("elsewhere")}</p>
      <div class="actions start">
        <label class="button plain">
          {t("chooseFile")}
          <RecordingInput onFile={onFile} />
        </label>
        <a class="button quiet" href={url} target="_blank" rel="noreferrer">
          {t("openAddress")}
        </a>
      </div>
    </div>
  );
}

/** The file input, inside a label that looks like a button or a drop zone. */
export function RecordingInput({ onFile }: Pick<NoPlayerProps, "onFile">) {
  return (
    <input
      type="file"
      accept="audio/*,video/*"
      class="hidden"
      onChange={({ currentTarget: { files } }) => files?.[0] !== undefined && onFile(files[0])}
    />
  );
}
