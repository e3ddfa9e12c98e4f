import { useEffect, useState } from "preact/hooks";
import { useWords } from "../text/language.js";
import { Button, CopyText, Dialog } from "./parts.js";

interface SecretDialogProps {
  readonly title: string;
  readonly lead: string;
  readonly secret: string;
  readonly label: string;
  /** What is lost when it goes uncopied. */
  readonly warning: string;
  readonly onClose: () => void;
}

/** Around what is shown only once: unless it was copied, or its user says so, it asks before it goes. */
export function SecretDialog({ title, lead, secret, label, warning, onClose }: SecretDialogProps) {
  const { t } = useWords();
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    if (isCopied) return;
    // Reloading the page loses it as well: the browser asks, in its own words.
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isCopied]);
  useEffect(() => {
    // What had the focus may be gone; the safe answer takes it.
    if (isAsking) document.querySelector<HTMLElement>(".question .primary")?.focus();
  }, [isAsking]);
  const copied = () => {
    setCopied(true);
    setAsking(false);
  };
  return (
    <Dialog title={title} onClose={() => (isCopied ? onClose() : setAsking(true))}>
      <p>{lead}</p>
      <CopyText text={secret} label={label} onCopied={copied} />
      {isAsking ? (
        <div class="notice warning question" role="alert">
          <p>{warning}</p>
          <div class="actions">
            <Button look="danger" onClick={onClose}>
              {t("closeAnyway")}
            </Button>
            <Button look="primary" onClick={() => setAsking(false)}>
              {t("goBack")}
            </Button>
          </div>
        </div>
      ) : (
        <div class="actions">
          <Button look="primary" onClick={onClose}>
            {t("keyDone")}
          </Button>
        </div>
      )}
    </Dialog>
  );
}
