import { useState } from "preact/hooks";
import { t } from "../text/language.js";
import { Field } from "./form.js";

interface HotWordsOptionProps {
  readonly value: string;
  readonly onInput: (written: string) => void;
}

/** A field for words that the recognizer should prefer. */
export function HotWordsOption({ value, onInput }: HotWordsOptionProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{value.trim() === "" ? t("moreOptions") : `${t("moreOptions")}: ${t("hotWords")}`}</summary>
      <Field
        label={t("hotWords")}
        name="hotwords"
        value={value}
        required={false}
        autocomplete="off"
        hint={t("hotWordsHint")}
        onInput={onInput}
      />
    </details>
  );
}

/** Splits the field's text for the client; a weight stays after its colon. */
export function hotWordsOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
