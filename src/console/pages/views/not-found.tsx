import { useTitle } from "../hooks.js";
import type { PlaygroundPage } from "../served.js";
import { t } from "../text/language.js";
import { ButtonLink, Empty, PageHead } from "../ui/parts.js";
import { SignedOutPage } from "../ui/signed-out-page.js";

/** For an address without a page, signed in. */
export function NotFound() {
  return <NothingHere title={t("notFound")} what={location.pathname} lead={t("notFoundLead")} />;
}

interface ServedElsewhereProps {
  readonly title: string;
  /** Playground pages served at this address. */
  readonly pages: readonly PlaygroundPage[];
}

/** For a playground page whose part of the API another address serves. */
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

/** For an address without a page, signed out. */
export function SignedOutNotFound() {
  useTitle(t("notFound"));
  return (
    <SignedOutPage title={t("notFound")} lead={t("notFoundLead")}>
      <ButtonLink to="sign-in" look="primary" text={t("signIn")} />
    </SignedOutPage>
  );
}
