import { useId } from "preact/hooks";
import type { Model, Recognizer } from "../../../client/browser.js";
import type { ChosenModel } from "../models.js";
import { en } from "../text/en.js";
import { useWords } from "../text/language.js";

interface ModelChoiceProps {
  readonly of: ChosenModel<Model | Recognizer>;
  /** Work is on that the choice would not change. */
  readonly isFixed?: boolean;
}

/** The model of a page, to choose where there are several, and what it cannot do as its package says it. */
export function ModelChoice({ of: { models, model, choose }, isFixed = false }: ModelChoiceProps) {
  const { t } = useWords();
  const id = useId();
  if (model === null) return null;
  return (
    <>
      {models.length > 1 && (
        <div class="field model-choice">
          <label for={id}>{t("model")}</label>
          <select
            id={id}
            value={model.name}
            disabled={isFixed}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {models.map(({ name, lang, default: isDefault }) => (
              <option key={name} value={name}>
                {`${name} (${lang.replaceAll("-", ", ")})${isDefault ? ` · ${t("modelDefault")}` : ""}`}
              </option>
            ))}
          </select>
        </div>
      )}
      <ModelNote model={model} />
    </>
  );
}

/** Nothing where the package does not say what its model cannot do. */
function ModelNote({ model: { name, notes } }: { readonly model: Model | Recognizer }) {
  const { t } = useWords();
  if (notes === null) return null;
  return (
    <p class="model-note">
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4M8 7.4v3.8M8 4.9v.1" />
      </svg>
      <span>
        <strong>{name}</strong> <NoteText notes={notes} />{" "}
        <a href="/docs/models.md" target="_blank" rel="noreferrer">
          {t("noteLink")}
        </a>
      </span>
    </p>
  );
}

/** In the reader's language where there is a text for it, else as the package says it. */
export function NoteText({ notes }: { readonly notes: string }) {
  const { t } = useWords();
  const known = (["noteSpeak", "noteHear"] as const).find((name) => en[name] === notes);
  return known === undefined ? <span lang="en">{notes}</span> : <span>{t(known)}</span>;
}
