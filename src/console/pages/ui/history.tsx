import { clock } from "../clock.js";
import { clearResults, type ResultKind, type StoredResult, useResults } from "../history.js";
import { t, timeOfDay } from "../text/language.js";
import { textForm } from "../text-form.js";
import { ExportButtons } from "./export-buttons.js";
import { Button } from "./parts.js";
import { SoundButton } from "./sound-button.js";

interface HistoryProps {
  readonly kind: ResultKind;
  readonly organizationId: string;
  /** Shows a result again. Pages that cannot do so leave it out. */
  readonly onOpen?: (result: StoredResult) => void;
}

/** The page's results since it was loaded. */
export function History({ kind, organizationId, onOpen }: HistoryProps) {
  const results = useResults(kind, organizationId);
  // The texts of the results depend on this choice.
  textForm.use();
  if (results.length === 0) return null;
  return (
    <section class="history" aria-label={t("history")}>
      <div class="section-head">
        <div>
          <h2>{t("history")}</h2>
          <p class="hint">{t("historyLead")}</p>
        </div>
        <Button look="quiet" onClick={() => clearResults(kind, organizationId)} text={t("clear")} />
      </div>
      <ol class="card">
        {results.map((result) => {
          const { id, atMs, model, title, text, seconds, credits, sound, downloads } = result;
          const facts = [
            title,
            clock(seconds),
            credits === null ? null : t("creditsUnit", { n: credits }),
            timeOfDay(atMs),
            model,
          ].filter((fact) => fact !== null);
          return (
            <li key={id}>
              {sound !== null && <SoundButton name={facts.join(", ")} load={() => sound} />}
              <div class="result">
                <p class="excerpt" lang="kk">
                  {text() || t("noSpeech")}
                </p>
                <p class="hint number">{facts.join(" · ")}</p>
              </div>
              <div class="result-actions">
                {onOpen !== undefined && (
                  <Button look="quiet" onClick={() => onOpen(result)} text={t("open")} />
                )}
                <ExportButtons text={text} name={`dauys-${kind}-${id}`} downloads={downloads} />
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
