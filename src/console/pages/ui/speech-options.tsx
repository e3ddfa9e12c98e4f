import { useState } from "preact/hooks";
import type { WrittenPronunciations } from "../pronunciations.js";
import { useTranslation } from "../text/language.js";
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
  /** Whether the model has a solver whose steps can be chosen. */
  readonly takesSteps: boolean;
  readonly pronunciations: WrittenPronunciations;
  readonly onChange: (changed: Partial<WrittenOptions>) => void;
  readonly onPause: (mark: string) => void;
}

/** The options that few texts need. */
export function SpeechOptions(props: SpeechOptionsProps) {
  const { written, takesSteps, pronunciations, onChange, onPause } = props;
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const { brokenLine } = pronunciations;
  const isNfeWrong = takesSteps && nfeOf(written.nfe) === null;
  const isSeedWrong = seedOf(written.seed) === null;
  const isWrong = isNfeWrong || isSeedWrong || brokenLine !== null;
  return (
    <details
      class="more"
      // A wrong value must stay visible.
      open={isOpen || isWrong}
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
              error={isNfeWrong ? t("stepsWrong") : undefined}
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
            error={isSeedWrong ? t("seedWrong") : undefined}
            onInput={(seed) => onChange({ seed })}
          />
        </div>
      </div>
    </details>
  );
}

function Pauses({ onPause }: Pick<SpeechOptionsProps, "onPause">) {
  const { t, number } = useTranslation();
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

/** Parses the number of steps; null if it is invalid. */
export function nfeOf(written: string): number | null {
  const nfe = written === "" ? NFE.fast : Number(written);
  return Number.isInteger(nfe) && nfe >= NFE.min && nfe <= NFE.max ? nfe : null;
}

/** Parses the seed; undefined if there is none, null if it is invalid. */
export function seedOf(written: string): number | undefined | null {
  if (written === "") return undefined;
  const seed = Number(written);
  return Number.isInteger(seed) && seed >= 0 && seed <= LARGEST_SEED ? seed : null;
}
