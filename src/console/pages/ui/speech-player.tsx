import { useEffect, useMemo, useRef } from "preact/hooks";
import { SPEECH_RATE_HZ } from "../../../../core/domain/synthesis/speech-rate.js";
import type { WordTime } from "../../../../core/domain/synthesis/word-time.js";
import { clock } from "../clock.js";
import { saveFile, wavBlob } from "../downloads.js";
import { number, t } from "../text/language.js";
import type { ReceivedSpeech, Speech } from "../use-speech.js";
import { Button } from "./parts.js";

/** Plays speech as it arrives. */
export function SpeechPlayer({ speech }: { readonly speech: Speech }) {
  return (
    <section class="card player" aria-label={t("player")}>
      {speech.received === null ? (
        <p class="hint centered">{t("speakEmpty")}</p>
      ) : (
        <PlayerControls received={speech.received} speech={speech} />
      )}
    </section>
  );
}

function PlayerControls({
  received,
  speech,
}: {
  readonly received: ReceivedSpeech;
  readonly speech: Speech;
}) {
  const { state, positionSeconds, word } = speech;
  const seconds = received.samples.length / SPEECH_RATE_HZ;
  const isPlaying = state === "playing" || state === "waiting";
  const times = `${clock(positionSeconds)} / ${clock(seconds)}`;
  return (
    <>
      <SpokenText text={received.text} word={state === "ended" ? null : word} />
      <Waveform samples={received.samples} played={seconds === 0 ? 0 : positionSeconds / seconds} />
      <div class="seek">
        <input
          type="range"
          aria-label={t("position")}
          aria-valuetext={times}
          min="0"
          max={seconds}
          // With any other step the thumb may not reach the end.
          step="any"
          value={positionSeconds}
          onInput={(event) => speech.seek(Number(event.currentTarget.value))}
        />
        <span class="number" aria-hidden="true">
          {times}
        </span>
      </div>
      <div class="actions start">
        <Button onClick={speech.toggle} text={t(isPlaying ? "pause" : "play")} />
        <Button
          disabled={received.state === "arriving"}
          onClick={() => saveFile("dauys.wav", wavBlob(received.samples, SPEECH_RATE_HZ))}
          text={t("download")}
        />
        <p class="hint number" role="status">
          {status()}
        </p>
        <p class="hint answered">{received.model}</p>
        <p class="hint mono" data-request={received.requestId}>
          {received.requestId}
        </p>
      </div>
    </>
  );

  function status(): string {
    if (received.state === "stopped") return t("speechStopped");
    if (received.state === "complete") return t("firstSound", { n: received.firstSoundMs });
    if (state === "waiting") return t("underrun");
    return received.share === null ? t("arriving") : t("made", { n: number(received.share * 100) });
  }
}

interface SpokenTextProps {
  readonly text: string;
  /** The word being spoken, or null. */
  readonly word: WordTime | null;
}

/** Marks the word that is being spoken. Screen readers are not told, because their users hear the speech. */
function SpokenText({ text, word }: SpokenTextProps) {
  const box = useRef<HTMLElement>(null);
  const letters = useMemo(() => [...text], [text]);
  const { from, to } = word ?? { from: letters.length, to: letters.length };
  const part = (begin: number, end?: number) => letters.slice(begin, end).join("");
  useEffect(() => keepInSight(box.current), [from]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section ref={box} class="spoken" lang="kk" aria-label={t("spokenText")} tabIndex={0}>
      {part(0, from)}
      {from < to && <mark>{part(from, to)}</mark>}
      {part(to)}
    </section>
  );
}

/** Scrolls the box without scrolling the page. */
function keepInSight(box: HTMLElement | null): void {
  const mark = box?.querySelector("mark");
  if (!box || !mark) return;
  const isAbove = mark.offsetTop < box.scrollTop;
  const isBelow = mark.offsetTop + mark.offsetHeight > box.scrollTop + box.clientHeight;
  if (isAbove || isBelow) box.scrollTop = mark.offsetTop - mark.offsetHeight;
}

const BARS = 120;
const HEIGHT = 64;

interface WaveformProps {
  /** 16-bit mono PCM. */
  readonly samples: Int16Array;
  /** The share that has been played, from 0 to 1. */
  readonly played: number;
}

/** Draws a sound as bars. Bars that were already played have the accent colour. */
function Waveform({ samples, played }: WaveformProps) {
  const heights = peaksOf(samples);
  const split = Math.round(played * BARS);
  return (
    <svg class="waveform" viewBox={`0 0 ${BARS * 4} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="played" d={bars(heights, 0, split)} />
      <path class="ahead" d={bars(heights, split, BARS)} />
    </svg>
  );
}

function bars(heights: readonly number[], from: number, to: number): string {
  let path = "";
  for (let bar = from; bar < to; bar++) {
    const half = Math.max(1, ((heights[bar] ?? 0) * HEIGHT) / 2);
    path += `M${bar * 4 + 2} ${HEIGHT / 2 - half}v${half * 2}`;
  }
  return path;
}

let known: { readonly samples: Int16Array; readonly heights: readonly number[] } | null = null;

/** The peak under each bar, relative to the loudest sample. It is cached while the sound stays the same. */
function peaksOf(samples: Int16Array): readonly number[] {
  if (known?.samples === samples) return known.heights;
  const peaks = Array.from({ length: BARS }, (_, bar) => {
    const end = Math.floor(((bar + 1) * samples.length) / BARS);
    let peak = 0;
    for (let index = Math.floor((bar * samples.length) / BARS); index < end; index++) {
      peak = Math.max(peak, Math.abs(samples[index] ?? 0));
    }
    return peak;
  });
  const loudest = Math.max(1, ...peaks);
  const heights = peaks.map((peak) => peak / loudest);
  known = { samples, heights };
  return heights;
}
