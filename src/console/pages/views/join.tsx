import { useEffect, useState } from "preact/hooks";
import { ask, asProblem, type Organization, type Problem, type Session } from "../api.js";
import { useTitle, useWork } from "../hooks.js";
import { Link } from "../router.js";
import { useWords } from "../text/language.js";
import { Gate, Waiting } from "../ui/gate.js";
import { Button, Trouble } from "../ui/parts.js";
import { AccountForm } from "./sign-in.js";

interface Found {
  readonly organization: string;
  readonly role: Organization["role"];
}

interface JoinProps {
  readonly session: Session;
  readonly onSession: (session: Session) => void;
  readonly onLanguage: (name: string) => void;
}

/** Where an invitation leads. Its secret stands behind the mark of the address, and leaves it at once. */
export function Join({ session, onSession, onLanguage }: JoinProps) {
  const { t } = useWords();
  const [token] = useState(() => location.hash.slice(1));
  const [found, setFound] = useState<Found | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isNew, setNew] = useState(true);
  const { isBusy, problem: refused, run } = useWork();
  useEffect(() => {
    history.replaceState(null, "", location.pathname);
    ask<Found>("POST", "/invitations/look-up", { token }).then(setFound, (thrown) =>
      setProblem(asProblem(thrown)),
    );
  }, [token]);
  useTitle(found === null ? t("invitation") : t("joinTitle", { name: found.organization }));
  const accept = () =>
    run(async () => {
      onSession(await ask<Session>("POST", "/invitations/accept", { token }));
    });
  if (problem !== null) {
    const isOver = problem.code === "invitation_invalid";
    return (
      <Gate
        title={t(isOver ? "joinBroken" : "failed")}
        lead={isOver ? t("joinBrokenLead") : ""}
        onLanguage={onLanguage}
      >
        {!isOver && <Trouble problem={problem} />}
        <Link to="sign-in" class="button plain">
          {t("signIn")}
        </Link>
      </Gate>
    );
  }
  if (found === null) return <Waiting />;
  const { organization, role } = found;
  return (
    <Gate
      title={t("joinTitle", { name: organization })}
      lead={t("joinLead", { role: t(role) })}
      onLanguage={onLanguage}
    >
      {session.user !== null ? (
        <>
          <Trouble problem={refused} />
          <Button look="primary" isBusy={isBusy} onClick={() => void accept()}>
            {t("joinAs", { email: session.user.email })}
          </Button>
        </>
      ) : isNew ? (
        <AccountForm key="new" isNew invitation={token} onSession={onSession} />
      ) : (
        // Signed in, they join at once.
        <AccountForm key="known" isNew={false} onSession={() => void accept()} />
      )}
      {session.user === null && (
        <p class="switch">
          {t(isNew ? "haveAccount" : "noAccount")}{" "}
          <button type="button" class="link" onClick={() => setNew(!isNew)}>
            {t(isNew ? "signIn" : "signUp")}
          </button>
        </p>
      )}
    </Gate>
  );
}
