import { useState } from "preact/hooks";
import { useWords } from "../text/language.js";
import { Button } from "./parts.js";

/** The request of a page as others would send it. */
export function Samples({ curl, client }: { readonly curl: string; readonly client: string }) {
  const { t } = useWords();
  const [shown, setShown] = useState<"curl" | "client">("curl");
  const [isCopied, setCopied] = useState(false);
  const text = shown === "curl" ? curl : client;
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => {});
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <section class="samples" aria-label={t("request")}>
      <div class="samples-head">
        <h2>{t("request")}</h2>
        <fieldset class="segments" aria-label={t("request")}>
          <button type="button" aria-pressed={shown === "curl"} onClick={() => setShown("curl")}>
            curl
          </button>
          <button type="button" aria-pressed={shown === "client"} onClick={() => setShown("client")}>
            {t("clientCode")}
          </button>
        </fieldset>
        <Button look="quiet" onClick={() => void copy()}>
          {t(isCopied ? "copied" : "copy")}
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </section>
  );
}
