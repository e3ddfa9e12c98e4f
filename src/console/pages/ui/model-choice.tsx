import { useId } from "preact/hooks";
import type { Model, Recognizer } from "../../../client/browser.js";
import type { ChosenModel } from "../models.js";
import { en } from "../text/en.js";
import { t } from "../text/language.js";
import { Select } from "./form.js";
import { Icon } from "./parts.js";

interface ModelChoiceProps {
  readonly of: ChosenModel<Model | Recognizer>;
  /** True while work is running that a new choice would not affect. */
  readonly isFixed?: boolean;
}

/**
 * Lets the user choose the page's model if there are several, and shows the package's note about its limits.
 */
export function ModelChoice({ of: { models, model, choose }, isFixed = false }: ModelChoiceProps) {
  const id = useId();
  if (model === null) return null;
  return (
    <>
      {models.length > 1 && (
        <div class="field model-choice">
          <label for={id}>{t("model")}</label>
          <Select
            id={id}
            value={model.name}
            disabled={isFixed}
            options={models.map(({ name, lang, default: isDefault }) => ({
              value: name,
              text: `${name} (${lang.replaceAll("-", ", ")})${isDefault ? ` · ${t("modelDefault")}` : ""}`,
            }))}
            onChoose={choose}
          />
        </div>
      )}
      <ModelNote model={model} />
    </>
  );
}

function ModelNote({ model: { name, notes } }: { readonly model: Model | Recognizer }) {
  if (notes === null) return null;
  return (
    <p class="model-note">
      <Icon path="M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4M8 7.4v3.8M8 4.9v.1" />
      <span>
        <strong>{name}</strong> <NoteText notes={notes} />{" "}
        <a href="/docs/models.md" target="_blank" rel="noreferrer">
          {t("noteLink")}
        </a>
      </span>
    </p>
  );
}

/** The note of a package, translated if the package is one of the shipped models. */
export function NoteText({ notes }: { readonly notes: string }) {
  const known = (["noteSpeak", "noteHear"] as const).find((name) => en[name] === notes);
  return known === undefined ? <span lang="en">{notes}</span> : <span>{t(known)}</span>;
}
