import { useRef, useState } from "preact/hooks";
import { t } from "../text/language.js";
import { Button } from "./parts.js";

const SHOWN_MS = 2_000;

/** Copies a text, and confirms it for two seconds. */
export function CopyButton({ text }: { readonly text: () => string }) {
  const [isCopied, copy] = useCopy(text);
  return <CopyAction look="quiet" isCopied={isCopied} onClick={() => void copy()} />;
}

interface CopyTextProps {
  readonly text: string;
  readonly label: string;
  /** Called after the button was pressed, or the field was copied manually. */
  readonly onCopied?: () => void;
}

/** A read-only field with a button that copies it. */
export function CopyText({ text, label, onCopied }: CopyTextProps) {
  const [isCopied, copy] = useCopy(() => text);
  const field = useRef<HTMLInputElement>(null);
  const press = async () => {
    if (await copy()) onCopied?.();
    // Focus selects the text, so that it can be copied manually.
    else field.current?.focus();
  };
  return (
    <div class="copy">
      <input
        ref={field}
        readOnly
        value={text}
        aria-label={label}
        onFocus={() => field.current?.select()}
        onCopy={onCopied}
        class="mono"
      />
      <CopyAction look="plain" isCopied={isCopied} onClick={() => void press()} />
    </div>
  );
}

interface CopyActionProps {
  readonly look: "plain" | "quiet";
  readonly isCopied: boolean;
  readonly onClick: () => void;
}

function CopyAction({ look, isCopied, onClick }: CopyActionProps) {
  return (
    <>
      <Button look={look} onClick={onClick} text={t(isCopied ? "copied" : "copy")} />
      <span class="hidden" role="status">
        {isCopied ? t("copied") : ""}
      </span>
    </>
  );
}

function useCopy(text: () => string): readonly [boolean, () => Promise<boolean>] {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    const isDone = await copyText(text());
    setCopied(isDone);
    setTimeout(() => setCopied(false), SHOWN_MS);
    return isDone;
  };
  return [isCopied, copy];
}

/** Copies a text to the clipboard; returns false if the browser refuses. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // On pages without TLS `navigator.clipboard` does not exist, except on localhost.
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.className = "hidden";
  field.value = text;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  // The text area is placed next to the focused element, because an open dialog makes everything outside it
  // inert.
  (focused?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
