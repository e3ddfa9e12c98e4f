import { useState } from "preact/hooks";
import { useWords } from "../text/language.js";
import { CopyButton } from "./copy-button.js";
import type { SampleCode } from "./sample-code.js";

/** The request of a page as others would send it. */
export function Samples(samples: SampleCode) {
  const { t } = useWords();
  const [shown, setShown] = useState<keyof SampleCode>("curl");
  const names: Readonly<Record<keyof SampleCode, string>> = {
    curl: "curl",
    client: t("clientCode"),
    python: "Python",
  };
  return (
    <section class="samples" aria-label={t("request")}>
      <div class="samples-head">
        <h2>{t("request")}</h2>
        <fieldset class="segments" aria-label={t("request")}>
          {(["curl", "client", "python"] as const).map((name) => (
            <button key={name} type="button" aria-pressed={shown === name} onClick={() => setShown(name)}>
              {names[name]}
            </button>
          ))}
        </fieldset>
        <CopyButton text={() => samples[shown]} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard */}
      <pre tabIndex={0}>
        <code>{samples[shown]}</code>
      </pre>
    </section>
  );
}
