import { SPEECH_RATE_HZ } from "../../../../core/domain/synthesis/speech-rate.js";
import { clock } from "../clock.js";
import { saveFile, wavBlob } from "../downloads.js";
import { useTranslation } from "../text/language.js";
import type { ReceivedSpeech, Speech } from "../use-speech.js";
import { Button } from "./parts.js";
import { SpokenText } from "./spoken-text.js";
import { Waveform } from "./waveform.js";

/** Plays a speech as it arrives. */
export function SpeechPlayer({ speech }: { readonly speech: Speech }) {
  const { t } = useTranslation();
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
  const { t, number } = useTranslation();
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
