import { TEXT_FORMS } from "../shown-words.js";
import { t } from "../text/language.js";
import { chooseTextForm, textForm } from "../text-form.js";
import { Segments } from "./form.js";

/** Switches all transcripts between readable text and plain words. */
export function TextFormChoice() {
  return (
    <Segments
      label={t("textForm")}
      values={TEXT_FORMS}
      chosen={textForm.use()}
      textOf={(form) => t(form)}
      onChoose={chooseTextForm}
    />
  );
}
