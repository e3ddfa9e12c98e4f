import { clock } from "../clock.js";
import { forgetResults, type KeptResult, type ResultKind, useResults } from "../history.js";
import { useWords } from "../text/language.js";
import { Button } from "./parts.js";
import { SoundButton } from "./sound-button.js";
import { TakeAlong } from "./take-along.js";

interface HistoryProps {
  readonly kind: ResultKind;
  readonly organizationId: string;
  /** Shows one as a whole again, where a page can. */
  readonly onOpen?: (result: KeptResult) => void;
}

/** What this page has made since it was loaded. */
export function History({ kind, organizationId, onOpen }: HistoryProps) {
  const { t, timeOfDay } = useWords();
  const results = useResults(kind, organizationId);
  if (results.length === 0) return null;
  return (
    <section class="history" aria-label={t("history")}>
      <div class="section-head">
        <div>
          <h2>{t("history")}</h2>
          <p class="hint">{t("historyLead")}</p>
        </div>
        <Button look="quiet" onClick={() => forgetResults(kind, organizationId)}>
          {t("clear")}
        </Button>
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
                  {text || t("noSpeech")}
                </p>
                <p class="hint number">{facts.join(" · ")}</p>
              </div>
              <div class="result-actions">
                {onOpen !== undefined && (
                  <Button look="quiet" onClick={() => onOpen(result)}>
                    {t("open")}
                  </Button>
                )}
                <TakeAlong text={() => text} name={`dauys-${kind}-${id}`} downloads={downloads} />
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
