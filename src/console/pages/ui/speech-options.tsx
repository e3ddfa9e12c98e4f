import { useState } from "preact/hooks";
import { readPronunciations, type WrittenPronunciations } from "../pronunciations.js";
import { number, t } from "../text/language.js";
import { Field } from "./form.js";
import { Button } from "./parts.js";

/** Options as the user typed them. */
export interface WrittenOptions {
  readonly nfe: string;
  readonly seed: string;
  readonly pronunciations: string;
}

const PAUSES = [
  { seconds: 0.5, mark: "[pause 500ms]" },
  { seconds: 1, mark: "[pause 1s]" },
  { seconds: 2, mark: "[pause 2s]" },
] as const;

export const NFE = { fast: 16, best: 32, min: 4, max: 64 };
const LARGEST_SEED = 2 ** 32 - 1;

interface SpeechOptionsProps {
  readonly written: WrittenOptions;
  readonly parsed: ParsedOptions;
  readonly takesSteps: boolean;
  readonly onChange: (changed: Partial<WrittenOptions>) => void;
  readonly onPause: (mark: string) => void;
}

/** The options that only few texts need. */
export function SpeechOptions({ written, parsed, takesSteps, onChange, onPause }: SpeechOptionsProps) {
  const [isOpen, setOpen] = useState(false);
  const { brokenLine } = parsed.pronunciations;
  return (
    <details
      class="more"
      // A field with an invalid value must stay visible.
      open={isOpen || parsed.isWrong}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{t("moreOptions")}</summary>
      <div class="stack">
        <Pauses onPause={onPause} />
        <Field
          label={t("pronunciations")}
          name="pronunciations"
          rows={3}
          placeholder={"Kaspi = каспи\nGPT = джи пи ти"}
          required={false}
          value={written.pronunciations}
          hint={t("pronunciationsHint")}
          error={brokenLine === null ? undefined : t("pronunciationsWrong", { n: brokenLine })}
          onInput={(pronunciations) => onChange({ pronunciations })}
        />
        <div class="controls">
          {takesSteps && (
            <Field
              label={t("steps")}
              name="nfe"
              type="number"
              required={false}
              value={written.nfe}
              hint={t("stepsHint")}
              error={parsed.nfe === null ? t("stepsWrong") : undefined}
              onInput={(nfe) => onChange({ nfe })}
            />
          )}
          <Field
            label={t("seed")}
            name="seed"
            type="number"
            required={false}
            value={written.seed}
            hint={t("seedHint")}
            error={parsed.seed === null ? t("seedWrong") : undefined}
            onInput={(seed) => onChange({ seed })}
          />
        </div>
      </div>
    </details>
  );
}

function Pauses({ onPause }: Pick<SpeechOptionsProps, "onPause">) {
  return (
    <fieldset class="field">
      <legend>{t("pauses")}</legend>
      <div class="actions start">
        {PAUSES.map(({ seconds, mark }) => (
          <Button
            key={mark}
            text={`+ ${t("seconds", { n: number(seconds, 1) })}`}
            onClick={() => onPause(mark)}
          />
        ))}
      </div>
      <p class="hint">{t("pausesHint")}</p>
    </fieldset>
  );
}

export interface ParsedOptions {
  /** Null if the value is invalid. */
  readonly nfe: number | null;
  /** Undefined if no seed is given, null if it is invalid. */
  readonly seed: number | undefined | null;
  readonly pronunciations: WrittenPronunciations;
  readonly isWrong: boolean;
}

/** @param takesSteps whether the model has a solver whose steps can be chosen */
export function parseOptions(written: WrittenOptions, takesSteps: boolean): ParsedOptions {
  const steps = written.nfe === "" ? NFE.fast : Number(written.nfe);
  const nfe = takesSteps ? within(steps, NFE.min, NFE.max) : NFE.fast;
  const seed = written.seed === "" ? undefined : within(Number(written.seed), 0, LARGEST_SEED);
  const pronunciations = readPronunciations(written.pronunciations);
  const isWrong = nfe === null || seed === null || pronunciations.brokenLine !== null;
  return { nfe, seed, pronunciations, isWrong };
}

function within(value: number, min: number, max: number): number | null {
  return Number.isInteger(value) && value >= min && value <= max ? value : null;
}
