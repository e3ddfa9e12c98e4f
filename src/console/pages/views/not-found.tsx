import { useTitle } from "../hooks.js";
import { Link } from "../router.js";
import type { PlaygroundPage } from "../served.js";
import { useWords } from "../text/language.js";
import { Gate } from "../ui/gate.js";
import { Empty, PageHead } from "../ui/parts.js";

/** At an address that has no page, for somebody who is signed in. */
export function NotFound() {
  const { t } = useWords();
  return (
    <>
      <PageHead title={t("notFound")} lead="" />
      <Empty title={location.pathname} lead={t("notFoundLead")}>
        <Link to="" class="button primary">
          {t("toHome")}
        </Link>
      </Empty>
    </>
  );
}

/** A page that asks a part of the interface which another address serves. */
export function ServedElsewhere({
  title,
  pages,
}: {
  readonly title: string;
  /** What is served here. */
  readonly pages: readonly PlaygroundPage[];
}) {
  const { t } = useWords();
  return (
    <>
      <PageHead title={title} lead="" />
      <Empty
        title={t("servedElsewhere")}
        lead={t("servedElsewhereLead", { pages: pages.map((page) => t(page)).join(", ") })}
      >
        <Link to="" class="button primary">
          {t("toHome")}
        </Link>
      </Empty>
    </>
  );
}

/** The same for everybody else. */
export function LostAtTheGate({ onLanguage }: { readonly onLanguage: (name: string) => void }) {
  const { t } = useWords();
  useTitle(t("notFound"));
  return (
    <Gate title={t("notFound")} lead={t("notFoundLead")} onLanguage={onLanguage}>
      <Link to="sign-in" class="button primary">
        {t("signIn")}
      </Link>
    </Gate>
  );
}
