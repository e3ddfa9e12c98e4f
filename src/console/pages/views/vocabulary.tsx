import type { ViewProps } from "../api.js";
import { t } from "../text/language.js";
import { Field, Form } from "../ui/form.js";
import { Button, ErrorNotice, PageHead, Warning, WhenLoaded } from "../ui/parts.js";
import { type KnownVocabulary, useVocabulary, useVocabularyLists } from "../use-vocabulary.js";
import type { ListFault } from "../vocabulary-lines.js";

const ROWS = 12;

/** The organization's stored words, which apply to all its requests. */
export function Vocabulary({ organization }: ViewProps) {
  const [loaded, reload] = useVocabulary(organization.id);
  return (
    <>
      <PageHead title={t("vocabulary")} lead={t("vocabularyLead")} />
      <WhenLoaded loaded={loaded} retry={reload}>
        {(known) => <Lists organizationId={organization.id} known={known} />}
      </WhenLoaded>
    </>
  );
}

interface ListsProps {
  readonly organizationId: string;
  readonly known: KnownVocabulary;
}

function Lists({ organizationId, known }: ListsProps) {
  const lists = useVocabularyLists(organizationId, known);
  const { limits } = known;
  const { written, read, change, save, discard, fault, isChanged, isSaved, isBusy } = lists;
  const field = (name: ListFault["field"]) => ({
    name,
    value: written[name],
    count: read.words[name].length,
    most: name === "hotwords" ? limits.hot_words : limits.pronunciations,
    error: fault?.field === name ? t(fault.text, fault.values) : undefined,
    onInput: (text: string) => change(name, text),
  });
  const { hot_word_characters, usual_weight: usual, largest_weight: largest } = limits;
  return (
    <Form onSubmit={(form) => save((found) => showFault(form, found))}>
      <div class="halves">
        <List
          {...field("hotwords")}
          title={t("hotWords")}
          lead={t("hotWordsLead")}
          label={t("hotWordsLines")}
          hint={t("hotWordsLimits", { characters: hot_word_characters, usual, largest })}
          placeholder={"айнұр\nмаңғыстау:2"}
        />
        <List
          {...field("pronunciations")}
          title={t("pronunciations")}
          lead={t("pronunciationsLead")}
          label={t("pronunciationsLines")}
          hint={t("pronunciationsLimits", { characters: limits.pronunciation_characters })}
          placeholder={"Kaspi = каспи\nGPT = джи пи ти"}
        />
      </div>
      <ErrorNotice problem={lists.problem} />
      {lists.isOvertaken && <Warning title={t("vocabularyChanged")} text={t("vocabularyChangedLead")} />}
      <div class="actions start">
        <Button type="submit" look="primary" isBusy={isBusy} text={t("save")} />
        {isChanged && <Button onClick={discard} disabled={isBusy} text={t("discard")} />}
        <p role="status" class={isChanged ? "soft" : "good"}>
          {isChanged ? t("vocabularyUnsaved") : isSaved && t("vocabularySaved")}
        </p>
      </div>
      <p class="hint">
        {t("vocabularyMore")} <a href="/docs/api-account.md#vocabulary">{t("reference")}</a>
      </p>
    </Form>
  );
}

interface ListProps {
  readonly name: ListFault["field"];
  readonly title: string;
  readonly lead: string;
  readonly label: string;
  readonly hint: string;
  readonly placeholder: string;
  readonly value: string;
  readonly count: number;
  readonly most: number;
  readonly error: string | undefined;
  readonly onInput: (text: string) => void;
}

function List({ title, lead, count, most, ...field }: ListProps) {
  return (
    <section class="card word-list" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        <span class={`number ${count > most ? "wrong" : "soft"}`}>{t("countOf", { n: count, most })}</span>
      </div>
      <p class="hint">{lead}</p>
      <Field {...field} rows={ROWS} required={false} />
    </section>
  );
}

/** Selects the line with the fault. */
function showFault(form: HTMLFormElement, { field, line }: ListFault): void {
  const box = form.elements.namedItem(field);
  if (!(box instanceof HTMLTextAreaElement)) return;
  if (line !== null) {
    const lines = box.value.split("\n");
    const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    box.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  }
  // The field's text for screen readers changes with the next frame.
  requestAnimationFrame(() => box.focus());
}
