import { useState } from "preact/hooks";
import { t } from "../text/language.js";
import { CopyButton } from "./copy.js";
import { Segments } from "./form.js";
import type { SampleCode } from "./sample-code.js";

const NAMES: Readonly<Record<keyof SampleCode, string>> = {
  curl: "curl",
  client: "TypeScript",
  python: "Python",
};

/** Shows the request that the page sends, as code. */
export function Samples(samples: SampleCode) {
  const [shown, setShown] = useState<keyof SampleCode>("curl");
  return (
    <section class="samples" aria-label={t("request")}>
      <div class="samples-head">
        <h2>{t("request")}</h2>
        <Segments
          label={t("request")}
          values={["curl", "client", "python"] as const}
          chosen={shown}
          textOf={(name) => NAMES[name]}
          onChoose={setShown}
        />
        <CopyButton text={() => samples[shown]} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard */}
      <pre tabIndex={0}>
        <code>{samples[shown]}</code>
      </pre>
    </section>
  );
}
