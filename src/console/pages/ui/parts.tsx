import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Problem } from "../api.js";
import type { Loaded } from "../hooks.js";
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
  const id = useId();
  const isDescribed = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        // The attributes' types tie each kind of input to attributes that none of ours has.
        type={type as "text"}
        value={value}
        autocomplete={autocomplete}
        required={required}
        aria-invalid={error !== undefined}
        aria-describedby={isDescribed ? `${id}-hint` : undefined}
        onInput={(event) => onInput?.(event.currentTarget.value)}
      />
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
      <p>{words.problem(problem.code, problem.requestId)}</p>
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
  const { t } = useWords();
  if (loaded.state === "ready") return <>{children(loaded.value)}</>;
  if (loaded.state === "failed") return <Trouble problem={loaded.problem} retry={retry} />;
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
  useEffect(() => {
    document.title = `${title} · Dauys`;
  }, [title]);
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        <p class="lead">{lead}</p>
      </div>
      {children}
    </header>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** A key that is shown once must not go away by a click beside it. */
  readonly mustDecide?: boolean;
  readonly children: ComponentChildren;
}

/** A dialog of the browser's own: it keeps the focus and gives it back. */
export function Dialog({ title, onClose, mustDecide = false, children }: DialogProps) {
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
      onCancel={(event) => {
        event.preventDefault();
        if (!mustDecide) onClose();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** A text to take along, with a button that takes it. */
export function CopyText({ text, label }: { readonly text: string; readonly label: string }) {
  const { t } = useWords();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => selectAll());
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  const field = useRef<HTMLInputElement>(null);
  const selectAll = () => field.current?.select();
  return (
    <div class="copy">
      <input ref={field} readOnly value={text} aria-label={label} onFocus={selectAll} class="mono" />
      <Button onClick={() => void copy()}>{t(isCopied ? "copied" : "copy")}</Button>
      <span class="hidden" role="status">
        {isCopied ? t("copied") : ""}
      </span>
    </div>
  );
}
