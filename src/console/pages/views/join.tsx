import { useState } from "preact/hooks";
import { callApi, type Organization, type Session } from "../api.js";
import { useLinkSecret, useTask, useTitle } from "../hooks.js";
import { enter } from "../session.js";
import { t } from "../text/language.js";
import { Button, ErrorNotice } from "../ui/parts.js";
import { BrokenLink, LoadingPage, SignedOutPage } from "../ui/signed-out-page.js";
import { AccountForm } from "./sign-in.js";

interface Invited {
  readonly organization: string;
  readonly role: Organization["role"];
}

/** The page that an invitation link opens. */
export function Join({ session }: { readonly session: Session }) {
  const { token, found, problem } = useLinkSecret<Invited>("/invitations/look-up");
  const [isNew, setNew] = useState(true);
  const acceptance = useTask();
  useTitle(found === null ? t("invitation") : t("joinTitle", { name: found.organization }));
  if (problem !== null) return <BrokenLink link="invitation" problem={problem} />;
  if (found === null) return <LoadingPage />;
  const accept = () =>
    acceptance.run(async () => {
      enter(await callApi<Session>("POST", "/invitations/accept", { token }));
    });
  const joinSignedIn = (email: string) => (
    <>
      <ErrorNotice problem={acceptance.problem} />
      <Button
        look="primary"
        isBusy={acceptance.isBusy}
        onClick={() => void accept()}
        text={t("joinAs", { email })}
      />
    </>
  );
  const joinByForm = () => (
    <>
      {isNew ? (
        <AccountForm key="new" isNew invitation={token} />
      ) : (
        // A user who signs in joins immediately.
        <AccountForm key="known" isNew={false} onSignedIn={() => void accept()} />
      )}
      <p class="switch">
        {t(isNew ? "haveAccount" : "noAccount")}{" "}
        <button type="button" class="link" onClick={() => setNew(!isNew)}>
          {t(isNew ? "signIn" : "signUp")}
        </button>
      </p>
    </>
  );
  return (
    <SignedOutPage
      title={t("joinTitle", { name: found.organization })}
      lead={t("joinLead", { role: t(found.role) })}
    >
      {session.user === null ? joinByForm() : joinSignedIn(session.user.email)}
    </SignedOutPage>
  );
}
