import { useEffect, useRef, useState } from "preact/hooks";
import type { Voices } from "../../../client/browser.js";
import { concatenatePcm } from "../../../domain/audio/pcm.js";
import { writeWav } from "../../../domain/audio/wav.js";
import type { WordTime } from "../../../domain/synthesis/word-time.js";
import { SentencePlayer } from "../../../player/sentence-player.js";
import { asProblem, creditsChanged, type Problem } from "../api.js";
import { useIsSlow } from "../hooks.js";
import { forgetRefusedKey, playgroundClient } from "../playground-client.js";
import { save } from "../save.js";
import { useWords } from "../text/language.js";
import { Button, Field, PageHead, Trouble } from "../ui/parts.js";
import { speakSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { SpokenText } from "../ui/spoken-text.js";
import { Waveform } from "../ui/waveform.js";
import type { ViewProps } from "../view-props.js";

const RATE_HZ = 24_000;
const WAV_HEADER_BYTES = 44;
const COLD_AFTER_MS = 2_500;

interface Heard {
  /** As it was sent: the field may say something else by now. */
  readonly text: string;
  readonly samples: Int16Array;
  readonly requestId: string | null;
  readonly firstSoundMs: number;
  readonly isComplete: boolean;
}

export function Speak({ organization }: ViewProps) {
  const { t, number } = useWords();
  const [text, setText] = useState(t("sampleText"));
  const [voices, setVoices] = useState<Voices["voices"]>([]);
  const [voice, setVoice] = useState<string | undefined>(undefined);
  const [hasWordTimes, setWordTimes] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [nfe, setNfe] = useState(16);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [heard, setHeard] = useState<Heard | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [state, setState] = useState<"playing" | "paused" | "waiting" | "ended">("ended");
  const [position, setPosition] = useState(0);
  const [word, setWord] = useState<WordTime | null>(null);
  const player = useRef<SentencePlayer | null>(null);
  const context = useRef<AudioContext | null>(null);
  const running = useRef<AbortController | null>(null);
  const isCold = useIsSlow(isBusy && heard === null, COLD_AFTER_MS);

  useEffect(() => {
    playgroundClient(organization.id)
      .then((client) => Promise.all([client.voices(), client.models()]))
      .then(([{ model, voices: found }, models]) => {
        setVoices(found);
        setWordTimes(models.some(({ name, word_times }) => name === model && word_times));
        setVoice(found[0]?.name);
      })
      .catch((thrown: unknown) => setProblem(asProblem(thrown)));
    return () => {
      running.current?.abort();
      player.current?.stop();
      context.current?.close().catch(() => {});
      // One that is closed makes no sound any more, and cannot be closed again.
      context.current = null;
    };
  }, [organization.id]);

  useEffect(() => {
    let frame = 0;
    // At each frame, so that short words show too; and once where it stands.
    const follow = () => {
      setPosition(player.current?.positionSeconds ?? 0);
      setWord(player.current?.currentWord ?? null);
      if (state === "playing") frame = requestAnimationFrame(follow);
    };
    follow();
    return () => cancelAnimationFrame(frame);
  }, [state]);

  const speak = async () => {
    stop();
    const control = new AbortController();
    running.current = control;
    setBusy(true);
    setProblem(null);
    setHeard(null);
    setPosition(0);
    context.current ??= new AudioContext({ sampleRate: RATE_HZ });
    // Within the click that browsers want before a page makes sound.
    context.current.resume().catch(() => {});
    const current = new SentencePlayer({ context: context.current });
    player.current = current;
    current.on("state", (event) => setState(event.state));
    const pieces: Int16Array[] = [];
    const startedAtMs = performance.now();
    let firstSoundMs = 0;
    try {
      const client = await playgroundClient(organization.id);
      let requestId: string | null = null;
      const sentences = client.speakStream(
        { text, voice, speed, nfe },
        { signal: control.signal, timestamps: hasWordTimes },
      );
      for await (const { wav, words, usage } of sentences) {
        firstSoundMs ||= Math.round(performance.now() - startedAtMs);
        requestId = usage.requestId;
        pieces.push(new Int16Array(wav.slice(WAV_HEADER_BYTES).buffer));
        current.push(wav, words);
        setHeard({ text, samples: concatenatePcm(pieces), requestId, firstSoundMs, isComplete: false });
      }
      setHeard({ text, samples: concatenatePcm(pieces), requestId, firstSoundMs, isComplete: true });
      current.end();
    } catch (thrown) {
      forgetRefusedKey(thrown);
      if (running.current === control) setProblem(asProblem(thrown));
      if (!control.signal.aborted) current.end();
    } finally {
      if (running.current === control) setBusy(false);
      creditsChanged.dispatchEvent(new Event("changed"));
    }
  };
  const stop = () => {
    running.current?.abort();
    player.current?.stop();
    setBusy(false);
  };
  const seconds = heard === null ? 0 : heard.samples.length / RATE_HZ;
  const isPlaying = state === "playing" || state === "waiting";
  const toggle = () => {
    if (isPlaying) player.current?.pause();
    else player.current?.resume();
  };
  return (
    <>
      <PageHead title={t("speak")} lead={t("speakLead")} />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void speak();
        }}
      >
        <div class="field">
          <label for="text">{t("text")}</label>
          <textarea
            id="text"
            rows={5}
            maxLength={5_000}
            lang="kk"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="hint number">
            {number([...text].length)} / {number(5_000)}
          </p>
        </div>
        <div class="controls">
          <div class="field">
            <label for="voice">{t("voice")}</label>
            <select id="voice" value={voice} onChange={(event) => setVoice(event.currentTarget.value)}>
              {voices.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </div>
          <div class="field">
            <label for="speed">
              {t("speed")} <output>{number(speed, 2)}×</output>
            </label>
            <input
              id="speed"
              type="range"
              min="0.5"
              max="2"
              step="0.05"
              value={speed}
              onInput={(event) => setSpeed(Number(event.currentTarget.value))}
            />
          </div>
          <Field
            label={t("quality")}
            name="nfe"
            type="number"
            value={String(nfe)}
            hint={t("qualityHint")}
            onInput={(value) => setNfe(Math.min(64, Math.max(4, Math.round(Number(value)) || 16)))}
          />
        </div>
        <Trouble problem={problem} />
        <div class="actions start">
          <Button
            type="submit"
            look="primary"
            isBusy={isBusy && heard === null}
            disabled={text.trim() === ""}
          >
            {t("speak")}
          </Button>
          {(isBusy || isPlaying) && <Button onClick={stop}>{t("stop")}</Button>}
          {isCold && (
            <p class="hint" role="status">
              {t("cold")}
            </p>
          )}
        </div>
      </form>
      <section class="card player" aria-label={t("play")}>
        {heard === null ? (
          <p class="hint centered">{t("speakEmpty")}</p>
        ) : (
          <>
            <SpokenText text={heard.text} word={state === "ended" ? null : word} />
            <Waveform samples={heard.samples} played={seconds === 0 ? 0 : position / seconds} />
            <input
              type="range"
              class="seek"
              aria-label={t("position")}
              min="0"
              max={seconds}
              step="0.05"
              value={position}
              onInput={(event) => {
                const wanted = Number(event.currentTarget.value);
                player.current?.seek(wanted);
                setPosition(wanted);
                setWord(player.current?.currentWord ?? null);
              }}
            />
            <div class="actions start">
              <Button onClick={toggle}>{t(isPlaying ? "pause" : "play")}</Button>
              <Button
                disabled={!heard.isComplete}
                onClick={() =>
                  save("dauys.wav", "audio/wav", new Uint8Array(writeWav(heard.samples, RATE_HZ)))
                }
              >
                {t("download")}
              </Button>
              <p class="hint number" role="status">
                {state === "waiting" && !heard.isComplete
                  ? t("underrun")
                  : t("firstSound", { n: heard.firstSoundMs })}
              </p>
              <p class="hint mono" data-request={heard.requestId}>
                {heard.requestId}
              </p>
            </div>
          </>
        )}
      </section>
      <Samples {...speakSamples(location.origin, { text, voice, speed, nfe })} />
    </>
  );
}
