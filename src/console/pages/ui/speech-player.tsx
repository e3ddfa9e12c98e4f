import { writeWav } from "../../../../core/domain/audio/wav.js";
import { SPEECH_RATE_HZ } from "../../../../core/domain/synthesis/speech-rate.js";
import { clock } from "../clock.js";
import { save } from "../save.js";
import { useWords } from "../text/language.js";
import type { Heard, Speech } from "../use-speech.js";
import { Button } from "./parts.js";
import { SpokenText } from "./spoken-text.js";
import { Waveform } from "./waveform.js";

/** A speech as it arrives and plays. */
export function SpeechPlayer({ speech }: { readonly speech: Speech }) {
  const { t } = useWords();
  return (
    <section class="card player" aria-label={t("player")}>
      {speech.heard === null ? (
        <p class="hint centered">{t("speakEmpty")}</p>
      ) : (
        <Sounding heard={speech.heard} speech={speech} />
      )}
    </section>
  );
}

function Sounding({ heard, speech }: { readonly heard: Heard; readonly speech: Speech }) {
  const { t, number } = useWords();
  const { state, positionSeconds, word } = speech;
  const seconds = heard.samples.length / SPEECH_RATE_HZ;
  const isPlaying = state === "playing" || state === "waiting";
  const times = `${clock(positionSeconds)} / ${clock(seconds)}`;
  return (
    <>
      <SpokenText text={heard.text} word={state === "ended" ? null : word} />
      <Waveform samples={heard.samples} played={seconds === 0 ? 0 : positionSeconds / seconds} />
      <div class="seek">
        <input
          type="range"
          aria-label={t("position")}
          aria-valuetext={times}
          min="0"
          max={seconds}
          // Any other step would keep the thumb from the end.
          step="any"
          value={positionSeconds}
          onInput={(event) => speech.seek(Number(event.currentTarget.value))}
        />
        <span class="number" aria-hidden="true">
          {times}
        </span>
      </div>
      <div class="actions start">
        <Button onClick={speech.toggle}>{t(isPlaying ? "pause" : "play")}</Button>
        <Button
          disabled={heard.state === "arriving"}
          onClick={() =>
            save("dauys.wav", "audio/wav", new Uint8Array(writeWav(heard.samples, SPEECH_RATE_HZ)))
          }
        >
          {t("download")}
        </Button>
        <p class="hint number" role="status">
          {status()}
        </p>
        <p class="hint answered">{heard.model}</p>
        <p class="hint mono" data-request={heard.requestId}>
          {heard.requestId}
        </p>
      </div>
    </>
  );

  function status(): string {
    if (heard.state === "stopped") return t("speechStopped");
    if (heard.state === "complete") return t("firstSound", { n: heard.firstSoundMs });
    if (state === "waiting") return t("underrun");
    return heard.share === null ? t("arriving") : t("made", { n: number(heard.share * 100) });
  }
}
