import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api.js";
import { t } from "../text/language.js";
import { CopyText } from "./copy.js";
import { Form } from "./form.js";
import { Button, ErrorNotice } from "./parts.js";

interface DialogProps {
  readonly title: string;
  /**
   * Called when the user wants to close the dialog with Escape or the device's own gesture. The dialog stays
   * open until its owner removes it.
   */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own modal dialog: it traps the focus, and restores it afterwards. */
function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // With `useEffect`, a key pressed before the next frame would reach the page below.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        // Chromium closes a dialog at the second Escape even if its `cancel` event was prevented, but not if the key was.
        event.preventDefault();
        onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        // The device has closed the dialog without asking, as some do at a second gesture.
        if (!event.currentTarget.isConnected) return;
        event.currentTarget.showModal();
        onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface FormDialogProps extends DialogProps {
  /** The label of the button that submits the form. */
  readonly action: string;
  readonly look?: "primary" | "danger";
  readonly isBusy?: boolean;
  readonly problem?: Problem | null;
  readonly onSubmit: () => void;
}

/** A dialog with Cancel and a button that submits. */
export function FormDialog(props: FormDialogProps) {
  const { title, action, look = "primary", isBusy = false, problem = null } = props;
  return (
    <Dialog title={title} onClose={props.onClose}>
      <Form onSubmit={props.onSubmit}>
        {props.children}
        <ErrorNotice problem={problem} />
        <div class="actions">
          <Button onClick={props.onClose} text={t("cancel")} />
          <Button type="submit" look={look} isBusy={isBusy} text={action} />
        </div>
      </Form>
    </Dialog>
  );
}

interface SecretDialogProps {
  readonly title: string;
  readonly lead: string;
  readonly secret: string;
  readonly label: string;
  /** Warns of what is lost if the dialog is closed without copying. */
  readonly warning: string;
  readonly onClose: () => void;
}

/** Shows a secret once. Asks before it closes, unless the secret was copied or the user has confirmed. */
export function SecretDialog({ title, lead, secret, label, warning, onClose }: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false);
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    if (isCopied) return;
    // A reload loses the secret too, so the browser asks as well, with its own text.
    const confirmLeaving = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", confirmLeaving);
    return () => removeEventListener("beforeunload", confirmLeaving);
  }, [isCopied]);
  useLayoutEffect(() => {
    // The focused button may have been removed, so the safe answer gets the focus.
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
            <Button look="danger" onClick={onClose} text={t("closeAnyway")} />
            <Button look="primary" onClick={() => setAsking(false)} text={t("goBack")} />
          </div>
        </div>
      ) : (
        <div class="actions">
          <Button look="primary" onClick={onClose} text={t("keyDone")} />
        </div>
      )}
    </Dialog>
  );
}
