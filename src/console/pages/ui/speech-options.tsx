import { useId, useState } from "preact/hooks";
import type { WrittenPronunciations } from "../pronunciations.js";
import { useWords } from "../text/language.js";
import { Button, Field } from "./parts.js";

/** What few texts need, as it is written. */
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
  /** The model has a solver, whose steps can be chosen. */
  readonly takesSteps: boolean;
  readonly pronunciations: WrittenPronunciations;
  readonly onChange: (changed: Partial<WrittenOptions>) => void;
  readonly onPause: (mark: string) => void;
}

/** Steps by number, another take, pauses, and how words sound. */
export function SpeechOptions({
  written,
  takesSteps,
  pronunciations,
  onChange,
  onPause,
}: SpeechOptionsProps) {
  const { t, number } = useWords();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const { brokenLine } = pronunciations;
  const isNfeWrong = takesSteps && nfeOf(written.nfe) === null;
  const isSeedWrong = seedOf(written.seed) === null;
  const isWrong = isNfeWrong || isSeedWrong || brokenLine !== null;
  return (
    <details
      class="more"
      // What is wrong stays in sight.
      open={isOpen || isWrong}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{t("moreOptions")}</summary>
      <div class="stack">
        <fieldset class="field">
          <legend>{t("pauses")}</legend>
          <div class="actions start">
            {PAUSES.map(({ seconds, mark }) => (
              <Button key={mark} onClick={() => onPause(mark)}>
                + {t("seconds", { n: number(seconds, 1) })}
              </Button>
            ))}
          </div>
          <p class="hint">{t("pausesHint")}</p>
        </fieldset>
        <div class="field">
          <label for={`${id}-words`}>{t("pronunciations")}</label>
          <textarea
            id={`${id}-words`}
            class="small"
            rows={3}
            lang="kk"
            placeholder={"Kaspi = каспи\nGPT = джи пи ти"}
            value={written.pronunciations}
            aria-invalid={brokenLine !== null}
            aria-describedby={`${id}-words-hint`}
            onInput={(event) => onChange({ pronunciations: event.currentTarget.value })}
          />
          <p id={`${id}-words-hint`} class={brokenLine === null ? "hint" : "hint wrong"}>
            {brokenLine === null ? t("pronunciationsHint") : t("pronunciationsWrong", { n: brokenLine })}
          </p>
        </div>
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

/** Null for what is no number of steps. */
export function nfeOf(written: string): number | null {
  const nfe = written === "" ? NFE.fast : Number(written);
  return Number.isInteger(nfe) && nfe >= NFE.min && nfe <= NFE.max ? nfe : null;
}

/** Undefined for none, null for what is no seed. */
export function seedOf(written: string): number | undefined | null {
  if (written === "") return undefined;
  const seed = Number(written);
  return Number.isInteger(seed) && seed >= 0 && seed <= LARGEST_SEED ? seed : null;
}
