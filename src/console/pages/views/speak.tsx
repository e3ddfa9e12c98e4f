import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model, SpeechRequest, Voices } from "../../../client/browser.js";
import { type Prices, type Problem, toProblem, type ViewProps } from "../api.js";
import { useIsSlow, useLoaded } from "../hooks.js";
import { catalogClient, modelOption, useModels } from "../models.js";
import { number, t } from "../text/language.js";
import { voiceTexts } from "../text/voices.js";
import { Money, speechCredits } from "../ui/cost.js";
import { Form, Segments } from "../ui/form.js";
import { History } from "../ui/history.js";
import { ModelChoice } from "../ui/model-choice.js";
import { Button, ErrorNotice, PageHead } from "../ui/parts.js";
import { speakSamples } from "../ui/sample-code.js";
import { Samples } from "../ui/samples.js";
import {
  NFE,
  type ParsedOptions,
  parseOptions,
  SpeechOptions,
  type WrittenOptions,
} from "../ui/speech-options.js";
import { SpeechPlayer } from "../ui/speech-player.js";
import { VoiceCards } from "../ui/voice-cards.js";
import { type Speech, useSpeech } from "../use-speech.js";

const COLD_AFTER_MS = 2_500;
const LONGEST_TEXT = 5_000;
const DEFAULT_OPTIONS = { nfe: String(NFE.fast), seed: "", pronunciations: "" };

type Voice = Voices["voices"][number];

export function Speak({ organization }: ViewProps) {
  const [text, setText] = useState(t("sampleText"));
  const chosenModel = useModels("synthesis");
  const { model } = chosenModel;
  const voices = useVoices(model);
  const [speed, setSpeed] = useState(1);
  const [written, setWritten] = useState<WrittenOptions>(DEFAULT_OPTIONS);
  const write = (changed: Partial<WrittenOptions>) => setWritten({ ...written, ...changed });
  const [prices] = useLoaded<Prices>("/prices");
  const field = useRef<HTMLTextAreaElement>(null);
  const speech = useSpeech(organization.id);
  // Until the catalog has loaded, the page assumes the shipped model.
  const takesSteps = model?.solver_steps !== false;
  const options = parseOptions(written, takesSteps);
  const request = requestOf({ text, model, voice: voices.chosen, speed, takesSteps, options });
  const credits = speechCredits(text, prices);
  const speak = () => {
    const voice = voices.all.find(({ name }) => name === voices.chosen);
    const title = voice === undefined ? "" : voiceTexts(voice, t).display;
    void speech.speak(request, { hasWordTimes: model?.word_times === true, credits, title });
  };
  return (
    <>
      <PageHead title={t("speak")} lead={t("speakLead")} />
      <ModelChoice of={chosenModel} isFixed={speech.isBusy} />
      <Form onSubmit={() => !options.isWrong && speak()}>
        <TextField field={field} text={text} onInput={setText} />
        {model !== null && voices.all.length > 0 && (
          <VoiceCards
            model={model.name}
            voices={voices.all}
            chosen={voices.chosen}
            onChoose={voices.choose}
          />
        )}
        <div class="controls">
          {takesSteps && <Quality nfe={options.nfe} onChoose={(steps) => write({ nfe: String(steps) })} />}
          <Speed speed={speed} onInput={setSpeed} />
        </div>
        <SpeechOptions
          written={written}
          parsed={options}
          takesSteps={takesSteps}
          onChange={write}
          onPause={(mark) => field.current !== null && setText(insertAtCursor(field.current, mark))}
        />
        <ErrorNotice problem={speech.problem ?? chosenModel.problem ?? voices.problem} />
        <Actions speech={speech} isEmpty={text.trim() === ""} isWrong={options.isWrong}>
          {t("creditsUnit", { n: credits })} <Money credits={credits} prices={prices} />
        </Actions>
      </Form>
      <SpeechPlayer speech={speech} />
      <History kind="speak" organizationId={organization.id} />
      <Samples {...speakSamples(location.origin, request)} />
    </>
  );
}

interface Wanted extends Pick<SpeechRequest, "text" | "voice" | "speed"> {
  readonly model: Model | null;
  readonly takesSteps: boolean;
  readonly options: ParsedOptions;
}

function requestOf({ text, model, voice, speed, takesSteps, options }: Wanted): SpeechRequest {
  const { nfe, seed, pronunciations } = options;
  return {
    text,
    ...modelOption(model),
    voice,
    speed,
    ...(takesSteps && { nfe: nfe ?? NFE.fast }),
    ...(typeof seed === "number" && { seed }),
    ...(pronunciations.entries.length > 0 && { pronunciations: pronunciations.entries }),
  };
}

/** Loads the voices of a model. Its default voice is chosen first. */
function useVoices(model: Model | null) {
  const [all, setAll] = useState<readonly Voice[]>([]);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [chosen, choose] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (model === null) return;
    let isCurrent = true;
    choose(model.default_voice);
    catalogClient()
      .voices({ model: model.name })
      .then(({ voices }) => isCurrent && setAll(voices))
      .catch((thrown: unknown) => setProblem(toProblem(thrown)));
    return () => {
      isCurrent = false;
    };
  }, [model]);
  return { all, problem, chosen, choose };
}

interface TextFieldProps {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly onInput: (text: string) => void;
}

function TextField({ field, text, onInput }: TextFieldProps) {
  return (
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
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p id="text-count" class="hint number">
        {number([...text].length)} / {number(LONGEST_TEXT)}
      </p>
    </div>
  );
}

/** Inserts `mark` with spaces around it, and returns the new text. */
function insertAtCursor(area: HTMLTextAreaElement, mark: string): string {
  const { value, selectionStart: from, selectionEnd: to } = area;
  const before = /\S$/.test(value.slice(0, from)) ? " " : "";
  const after = /^\S/.test(value.slice(to)) ? " " : "";
  area.setRangeText(`${before}${mark}${after}`, from, to, "end");
  area.focus();
  return area.value;
}

interface QualityProps {
  /** Null while the number of steps is invalid. */
  readonly nfe: number | null;
  readonly onChoose: (nfe: number) => void;
}

function Quality({ nfe, onChoose }: QualityProps) {
  return (
    <fieldset class="field">
      <legend>{t("quality")}</legend>
      <div class="actions start">
        <Segments
          values={[NFE.fast, NFE.best]}
          chosen={nfe}
          textOf={(steps) => t(steps === NFE.fast ? "fast" : "best")}
          onChoose={onChoose}
        />
        <span class="hint mono">nfe {nfe ?? "–"}</span>
      </div>
    </fieldset>
  );
}

function Speed({ speed, onInput }: { readonly speed: number; readonly onInput: (speed: number) => void }) {
  return (
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
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
    </div>
  );
}

interface ActionsProps {
  readonly speech: Speech;
  readonly isEmpty: boolean;
  readonly isWrong: boolean;
  /** The price of the text. */
  readonly children: ComponentChildren;
}

function Actions({ speech, isEmpty, isWrong, children }: ActionsProps) {
  const isWaiting = speech.isBusy && speech.received === null;
  const isCold = useIsSlow(isWaiting, COLD_AFTER_MS);
  const isPlaying = speech.state === "playing" || speech.state === "waiting";
  return (
    <div class="actions start">
      <Button
        type="submit"
        look="primary"
        isBusy={isWaiting}
        disabled={isEmpty || isWrong}
        text={t("speak")}
      />
      {(speech.isBusy || isPlaying) && <Button onClick={speech.stop} text={t("stop")} />}
      {isCold ? (
        <p class="hint" role="status">
          {t("cold")}
        </p>
      ) : (
        !isEmpty && <p class="hint number cost">{children}</p>
      )}
    </div>
  );
}
