import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../api.js";
import { type Loaded, useTitle } from "../hooks.js";
import { Link } from "../router.js";
import { useWords } from "../text/language.js";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: () => void;
  readonly look?: "primary" | "plain" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
  readonly label?: string;
}

export function Button(props: ButtonProps) {
  const {
    children,
    onClick,
    look = "plain",
    type = "button",
    isBusy = false,
    disabled = false,
    label,
  } = props;
  return (
    <button
      type={type}
      class={`button ${look}`}
      onClick={onClick}
      disabled={disabled || isBusy}
      aria-busy={isBusy}
      aria-label={label}
    >
      {isBusy && <span class="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}

interface FieldProps {
  readonly label: string;
  readonly name: string;
  readonly type?: string;
  readonly hint?: string;
  readonly value?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly error?: string | undefined;
  readonly onInput?: (value: string) => void;
}

export function Field(props: FieldProps) {
  const { label, name, type = "text", hint, value, autocomplete, required = true, error, onInput } = props;
  const { t } = useWords();
  const [isShown, setShown] = useState(false);
  const id = useId();
  const isSecret = type === "password";
  const isDescribed = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label id={`${id}-label`} for={id}>
        {label}
      </label>
      <div class={isSecret ? "secret" : ""}>
        <input
          id={id}
          name={name}
          // The attributes' types tie each kind of input to attributes that none of ours has.
          type={(isSecret && isShown ? "text" : type) as "text"}
          value={value}
          autocomplete={autocomplete}
          {...(isSecret && { spellcheck: false, autocapitalize: "none" })}
          required={required}
          aria-invalid={error !== undefined}
          aria-describedby={isDescribed ? `${id}-hint` : undefined}
          onInput={(event) => onInput?.(event.currentTarget.value)}
        />
        {isSecret && (
          // Named "Show" and described by the field's label.
          <button
            type="button"
            class="reveal"
            aria-controls={id}
            aria-describedby={`${id}-label`}
            onClick={() => setShown(!isShown)}
          >
            {t(isShown ? "hide" : "show")}
          </button>
        )}
      </div>
      {isDescribed && (
        <p id={`${id}-hint`} class={error === undefined ? "hint" : "hint wrong"}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

/** What went wrong, and what to do about it. */
export function Trouble({
  problem,
  retry,
}: {
  readonly problem: Problem | null;
  readonly retry?: () => void;
}) {
  const words = useWords();
  if (problem === null) return null;
  if (problem.code === "out_of_credits") {
    return (
      <div class="notice warning" role="alert">
        <div>
          <strong>{words.t("outOfCredits")}</strong>
          <p>{words.t("outOfCreditsLead")}</p>
        </div>
        <Link to="credits" class="button plain">
          {words.t("toCredits")}
        </Link>
      </div>
    );
  }
  return (
    <div class="notice error" role="alert">
      <div>
        <p>{words.problem(problem.code, problem.requestId)}</p>
        {problem.code === "invalid_request" && problem.detail !== null && (
          <p class="mono" lang="en">
            {problem.detail}
          </p>
        )}
      </div>
      {retry !== undefined && <Button onClick={retry}>{words.t("retry")}</Button>}
    </div>
  );
}

/** Shows what was loaded, or how far that is. */
export function Shown<T>({
  loaded,
  retry,
  children,
}: {
  readonly loaded: Loaded<T>;
  readonly retry: () => void;
  readonly children: (value: T) => ComponentChildren;
}) {
  if (loaded.state === "ready") return <>{children(loaded.value)}</>;
  if (loaded.state === "failed") return <Trouble problem={loaded.problem} retry={retry} />;
  return <Skeleton />;
}

/** In the place of what is being loaded. */
export function Skeleton() {
  const { t } = useWords();
  return (
    <div class="skeleton" role="status">
      <span class="hidden">{t("loading")}</span>
      <i />
      <i />
      <i />
    </div>
  );
}

export function Empty({
  title,
  lead,
  children,
}: {
  title: string;
  lead: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <svg viewBox="0 0 48 24" aria-hidden="true">
        <path d="M4 10v4M12 6v12M20 9v6M28 3v18M36 8v8M44 11v2" />
      </svg>
      <h2>{title}</h2>
      <p>{lead}</p>
      {children}
    </div>
  );
}

/** A table that scrolls by itself where the window is narrow, by keyboard too. */
export function TableBox({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section class="table" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

export function PageHead({
  title,
  lead,
  children,
}: {
  title: string;
  lead: string;
  children?: ComponentChildren;
}) {
  useTitle(title);
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {lead !== "" && <p class="lead">{lead}</p>}
      </div>
      {children}
    </header>
  );
}

interface DialogProps {
  readonly title: string;
  /** Its user wants to leave: by Escape, or by whatever closes dialogs on their device. It stays until its owner removes it. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog of the browser's own: it keeps the focus and gives it back. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
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
        // Chromium closes a dialog at the second Escape whatever its `cancel` event says, but not when the key itself is taken.
        event.preventDefault();
        onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={(event) => {
        // Closed over our head, as a device may do at a second gesture.
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

/** A text to take along, with a button that takes it. */
export function CopyText({
  text,
  label,
  onCopied,
}: {
  readonly text: string;
  readonly label: string;
  /** By the button, or by hand out of the field. */
  readonly onCopied?: () => void;
}) {
  const { t } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Not allowed: what is selected can be copied by hand.
      field.current?.focus();
      return;
    }
    onCopied?.();
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  const field = useRef<HTMLInputElement>(null);
  const selectAll = () => field.current?.select();
  return (
    <div class="copy">
      <input
        ref={field}
        readOnly
        value={text}
        aria-label={label}
        onFocus={selectAll}
        onCopy={onCopied}
        class="mono"
      />
      <Button onClick={() => void copy()}>{t(isCopied ? "copied" : "copy")}</Button>
      <span class="hidden" role="status">
        {isCopied ? t("copied") : ""}
      </span>
    </div>
  );
}
