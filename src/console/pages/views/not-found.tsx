import { useTitle } from "../hooks.js";
import { Link } from "../router.js";
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
