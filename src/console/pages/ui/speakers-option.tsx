import type { Recognizer } from "../../../client/browser.js";
import { t } from "../text/language.js";

interface SpeakersOptionProps {
  /** The page's model; null until loaded. */
  readonly model: Recognizer | null;
  readonly isChosen: boolean;
  readonly onChange: (isChosen: boolean) => void;
}

/** A switch that tells speakers apart, if the service can. */
export function SpeakersOption({ model, isChosen, onChange }: SpeakersOptionProps) {
  if (model?.diarize !== true) return null;
  return (
    <div class="choices">
      <label>
        <input
          type="checkbox"
          checked={isChosen}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        {t("speakers")}
      </label>
      <p class="hint">{t("speakersHint")}</p>
    </div>
  );
}

/** Request options for the switch. */
export function speakersOption(model: Recognizer | null, isChosen: boolean): { readonly diarize?: true } {
  return isChosen && model?.diarize === true ? { diarize: true } : {};
}
