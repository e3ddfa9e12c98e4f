import { useEffect, useRef, useState } from "preact/hooks";
import type { SpeechRequest, Voices } from "../../../client/browser.js";
import { asProblem, type Prices, type Problem } from "../api.js";
import { speechCredits } from "../cost.js";
import { useIsSlow, useLoaded } from "../hooks.js";
import { catalogClient, modelWish, useModels } from "../models.js";
import { readPronunciations } from "../pronunciations.js";
import { useWords } from "../text/language.js";
import { voiceTexts } from "../text/voices.js";
import { History } from "../ui/history.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Money } from "../ui/money.js";
import { Button, PageHead, Trouble } from "../ui/parts.js";
import { speakSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import { NFE, nfeOf, SpeechOptions, seedOf, type WrittenOptions } from "../ui/speech-options.js";
import { SpeechPlayer } from "../ui/speech-player.js";
import { VoiceCards } from "../ui/voice-cards.js";
import { useSpeech } from "../use-speech.js";
import type { ViewProps } from "../view-props.js";

const COLD_AFTER_MS = 2_500;
const LONGEST_TEXT = 5_000;

type Voice = Voices["voices"][number];

export function Speak({ organization }: ViewProps) {
  const { t, number } = useWords();
  const [text, setText] = useState(t("sampleText"));
  const chosenModel = useModels("synthesis");
  const { model } = chosenModel;
  const [voices, setVoices] = useState<readonly Voice[]>([]);
  const [voicesProblem, setVoicesProblem] = useState<Problem | null>(null);
  const [voice, setVoice] = useState<string | undefined>(undefined);
  const [speed, setSpeed] = useState(1);
  const [written, setWritten] = useState<WrittenOptions>({
    nfe: String(NFE.fast),
    seed: "",
    pronunciations: "",
  });
  const [prices] = useLoaded<Prices>("/prices");
  const field = useRef<HTMLTextAreaElement>(null);
  const speech = useSpeech(organization.id);
  const { heard, isBusy, problem, state } = speech;
  const isCold = useIsSlow(isBusy && heard === null, COLD_AFTER_MS);

  useEffect(() => {
    if (model === null) return;
    let isWanted = true;
    setVoice(model.default_voice);
    catalogClient()
      .voices({ model: model.name })
      .then((found) => isWanted && setVoices(found.voices))
      .catch((thrown: unknown) => setVoicesProblem(asProblem(thrown)));
    return () => {
      isWanted = false;
    };
  }, [model]);

  const pronunciations = readPronunciations(written.pronunciations);
  // While the catalog is awaited the page looks as for the model that is shipped.
  const takesSteps = model?.solver_steps !== false;
  const nfe = takesSteps ? nfeOf(written.nfe) : NFE.fast;
  const seed = seedOf(written.seed);
  const isWrong = nfe === null || seed === null || pronunciations.brokenLine !== null;
  const request: SpeechRequest = {
    text,
    ...modelWish(model),
    voice,
    speed,
    ...(takesSteps && { nfe: nfe ?? NFE.fast }),
    ...(typeof seed === "number" && { seed }),
    ...(pronunciations.entries.length > 0 && { pronunciations: pronunciations.entries }),
  };
  const credits = speechCredits(text, prices.state === "ready" ? prices.value : null);
  const chosen = voices.find(({ name }) => name === voice);
  const speak = () => {
    speech.speak(request, {
      hasWordTimes: model?.word_times === true,
      credits,
      title: chosen === undefined ? "" : voiceTexts(chosen, t).display,
    });
  };
  const insert = (mark: string) => {
    const area = field.current;
    if (area === null) return;
    const { value, selectionStart: from, selectionEnd: to } = area;
    const before = /\S$/.test(value.slice(0, from)) ? " " : "";
    const behind = /^\S/.test(value.slice(to)) ? " " : "";
    area.setRangeText(`${before}${mark}${behind}`, from, to, "end");
    setText(area.value);
    area.focus();
  };
  const isSounding = state === "playing" || state === "waiting";
  return (
    <>
      <PageHead title={t("speak")} lead={t("speakLead")} />
      <ModelChoice of={chosenModel} isFixed={isBusy} />
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong) speak();
        }}
      >
        <div class="field">
          <label for="text">{t("text")}</label>
          <textarea
            ref={field}
            id="text"
            rows={5}
            maxLength={LONGEST_TEXT}
            lang="kk"
            value={text}
            aria-describedby="text-count"
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p id="text-count" class="hint number">
            {number([...text].length)} / {number(LONGEST_TEXT)}
          </p>
        </div>
        {model !== null && voices.length > 0 && (
          <VoiceCards model={model.name} voices={voices} chosen={voice} onChoose={setVoice} />
        )}
        <div class="controls">
          {takesSteps && (
            <fieldset class="field">
              <legend>{t("quality")}</legend>
              <div class="actions start">
                <div class="segments">
                  {(["fast", "best"] as const).map((name) => (
                    <button
                      key={name}
                      type="button"
                      aria-pressed={nfe === NFE[name]}
                      onClick={() => setWritten({ ...written, nfe: String(NFE[name]) })}
                    >
                      {t(name)}
                    </button>
                  ))}
                </div>
                <span class="hint mono">nfe {nfe ?? "–"}</span>
              </div>
            </fieldset>
          )}
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
        </div>
        <SpeechOptions
          written={written}
          takesSteps={takesSteps}
          pronunciations={pronunciations}
          onChange={(changed) => setWritten({ ...written, ...changed })}
          onPause={insert}
        />
        <Trouble problem={problem ?? chosenModel.problem ?? voicesProblem} />
        <div class="actions start">
          <Button
            type="submit"
            look="primary"
            isBusy={isBusy && heard === null}
            disabled={text.trim() === "" || isWrong}
          >
            {t("speak")}
          </Button>
          {(isBusy || isSounding) && <Button onClick={speech.stop}>{t("stop")}</Button>}
          {isCold ? (
            <p class="hint" role="status">
              {t("cold")}
            </p>
          ) : (
            text.trim() !== "" && (
              <p class="hint number cost">
                {t("creditsUnit", { n: credits })} <Money credits={credits} prices={prices} />
              </p>
            )
          )}
        </div>
      </form>
      <SpeechPlayer speech={speech} />
      <History kind="speak" organizationId={organization.id} />
      <Samples {...speakSamples(location.origin, request)} />
    </>
  );
}
