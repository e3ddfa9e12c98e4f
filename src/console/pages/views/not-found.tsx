import { useTitle } from "../hooks.js";
import type { PlaygroundPage } from "../served.js";
import { t } from "../text/language.js";
import { ButtonLink, Empty, PageHead } from "../ui/parts.js";
import { SignedOutPage } from "../ui/signed-out-page.js";

/** Shown to a signed-in user for an address without a page. */
export function NotFound() {
  return <NothingHere title={t("notFound")} what={location.pathname} lead={t("notFoundLead")} />;
}

interface ServedElsewhereProps {
  readonly title: string;
  /** The playground pages that this address serves. */
  readonly pages: readonly PlaygroundPage[];
}

/** Shown for a playground page if another address serves its part of the API. */
export function ServedElsewhere({ title, pages }: ServedElsewhereProps) {
  const lead = t("servedElsewhereLead", { pages: pages.map((page) => t(page)).join(", ") });
  return <NothingHere title={title} what={t("servedElsewhere")} lead={lead} />;
}

function NothingHere({ title, what, lead }: Readonly<Record<"title" | "what" | "lead", string>>) {
  return (
    <>
      <PageHead title={title} />
      <Empty title={what} lead={lead}>
        <ButtonLink to="" look="primary" text={t("toHome")} />
      </Empty>
    </>
  );
}

/** Shown to a user who is not signed in for an address without a page. */
export function SignedOutNotFound() {
  useTitle(t("notFound"));
  return (
    <SignedOutPage title={t("notFound")} lead={t("notFoundLead")}>
      <ButtonLink to="sign-in" look="primary" text={t("signIn")} />
    </SignedOutPage>
  );
}
