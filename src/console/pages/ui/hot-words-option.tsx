import { useState } from "preact/hooks";
import { useWords } from "../text/language.js";
import { Field } from "./parts.js";

interface HotWordsOptionProps {
  readonly value: string;
  readonly onInput: (written: string) => void;
}

/** Words that a recognizer is to prefer, as they are written: between commas. */
export function HotWordsOption({ value, onInput }: HotWordsOptionProps) {
  const { t } = useWords();
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

/** As the client takes them; scores stay behind their colons. */
export function hotWordsOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
