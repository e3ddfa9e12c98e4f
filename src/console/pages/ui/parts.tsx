import type { ComponentChildren } from "preact";
import type { Problem } from "../api.js";
import { type Loaded, useTitle } from "../hooks.js";
import { Link } from "../router.js";
import { problemText, t } from "../text/language.js";

type Look = "primary" | "plain" | "danger" | "quiet";

interface ButtonProps {
  readonly text: string;
  /** A label for screen readers, if the text alone is not clear enough. */
  readonly label?: string;
  readonly icon?: ComponentChildren;
  readonly onClick?: () => void;
  readonly look?: Look;
  readonly type?: "button" | "submit";
  readonly isBusy?: boolean;
  readonly disabled?: boolean;
}

export function Button(props: ButtonProps) {
  const { text, label, icon, onClick, look = "plain", type = "button", isBusy = false, disabled } = props;
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
      {icon}
      {text}
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  to,
  look,
  text,
}: {
  readonly to: string;
  readonly look: Look;
  readonly text: string;
}) {
  return (
    <Link to={to} class={`button ${look}`}>
      {text}
    </Link>
  );
}

export function Icon({ path }: { readonly path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

interface ErrorNoticeProps {
  readonly problem: Problem | null;
  readonly retry?: () => void;
}

/** Shows an error and how to fix it. */
export function ErrorNotice({ problem, retry }: ErrorNoticeProps) {
  if (problem === null) return null;
  if (problem.code === "out_of_credits") {
    return (
      <Warning title={t("outOfCredits")} text={t("outOfCreditsLead")}>
        <ButtonLink to="credits" look="plain" text={t("toCredits")} />
      </Warning>
    );
  }
  return (
    <div class="notice error" role="alert">
      <div>
        <p>{problemText(problem.code, problem.requestId)}</p>
        {problem.code === "invalid_request" && problem.detail !== null && (
          <p class="mono" lang="en">
            {problem.detail}
          </p>
        )}
      </div>
      {retry !== undefined && <Button onClick={retry} text={t("retry")} />}
    </div>
  );
}

interface WarningProps {
  readonly title: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

export function Warning({ title, text, children }: WarningProps) {
  return (
    <div class="notice warning" role="alert">
      <div>
        <strong>{title}</strong>
        <p>{text}</p>
      </div>
      {children}
    </div>
  );
}

interface WhenLoadedProps<T> {
  readonly loaded: Loaded<T>;
  readonly retry: () => unknown;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows a loaded value, a placeholder until it has loaded, or the reason why it could not be loaded. */
export function WhenLoaded<T>({ loaded, retry, children }: WhenLoadedProps<T>) {
  if (loaded.state === "ready") return <>{children(loaded.value)}</>;
  if (loaded.state === "failed") return <ErrorNotice problem={loaded.problem} retry={() => void retry()} />;
  return <Skeleton />;
}

export function Skeleton() {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">{t("loading")}</span>
      <i />
      <i />
      <i />
    </div>
  );
}

interface HeadingProps {
  readonly title: string;
  readonly lead?: string;
  readonly children?: ComponentChildren;
}

/** Shown in place of a list that has no entries. */
export function Empty({ title, lead, children }: HeadingProps) {
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

export function PageHead({ title, lead, children }: HeadingProps) {
  useTitle(title);
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children}
    </header>
  );
}

/** How to reach the operator: by an e-mail address or a page. */
export function Contact({ address }: { readonly address: string }) {
  const isPage = address.startsWith("https://");
  return (
    <a href={isPage ? address : `mailto:${address}`} rel="noreferrer">
      {isPage ? address.slice("https://".length) : address}
    </a>
  );
}
