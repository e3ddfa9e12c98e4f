import { useState } from "preact/hooks";
import { copyText } from "../copy.js";
import { useWords } from "../text/language.js";
import { Button } from "./parts.js";

const TOLD_MS = 2_000;

/** Takes a text along, and says that it did. */
export function CopyButton({ text }: { readonly text: () => string }) {
  const { t } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    setCopied(await copyText(text()));
    setTimeout(() => setCopied(false), TOLD_MS);
  };
  return (
    <>
      <Button look="quiet" onClick={() => void copy()}>
        {t(isCopied ? "copied" : "copy")}
      </Button>
      <span class="hidden" role="status">
        {isCopied ? t("copied") : ""}
      </span>
    </>
  );
}
