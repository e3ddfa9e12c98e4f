import type { ComponentChildren } from "preact";
import type { Problem } from "../api.js";
import { t } from "../text/language.js";
import { ButtonLink, ErrorNotice } from "./parts.js";
import { Preferences } from "./preferences.js";

interface SignedOutPageProps {
  readonly title: string;
  readonly lead: string;
  readonly children: ComponentChildren;
}

/**
 * Shown until the page knows what to show. It stays blank for half a second, so that quick responses cause no
 * flicker.
 */
export function LoadingPage() {
  return (
    <main class="gate" aria-busy="true">
      <p class="waiting" role="status">
        <span class="spinner" aria-hidden="true" />
        {t("loading")}
      </p>
    </main>
  );
}

/** The layout of pages that need no sign-in. */
export function SignedOutPage({ title, lead, children }: SignedOutPageProps) {
  return (
    <main class="gate">
      <div class="card">
        <img src={new URL("../icon.svg", import.meta.url).href} alt="Dauys" width="40" height="40" />
        <h1 tabIndex={-1}>{title}</h1>
        <p class="lead">{lead}</p>
        {children}
      </div>
      <Preferences />
    </main>
  );
}

interface BrokenLinkProps {
  readonly link: "invitation" | "reset";
  readonly problem: Problem;
}

/** Shown for a link whose secret the service does not accept or could not look up. */
export function BrokenLink({ link, problem }: BrokenLinkProps) {
  const isInvalid = problem.code === `${link}_invalid`;
  return (
    <SignedOutPage
      title={t(isInvalid ? `${link}Broken` : "failed")}
      lead={isInvalid ? t(`e_${link}_invalid`) : ""}
    >
      {!isInvalid && <ErrorNotice problem={problem} />}
      <ButtonLink to="sign-in" look="plain" text={t("signIn")} />
    </SignedOutPage>
  );
}
