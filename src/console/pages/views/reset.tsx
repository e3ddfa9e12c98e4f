import { useEffect, useState } from "preact/hooks";
import { ask, asProblem, type Problem, type Session } from "../api.js";
import { useTitle, useWork } from "../hooks.js";
import { go, Link } from "../router.js";
import { useWords } from "../text/language.js";
import { Gate, Waiting } from "../ui/gate.js";
import { Button, Field, Trouble } from "../ui/parts.js";

interface ResetProps {
  readonly onSession: (session: Session) => void;
  readonly onLanguage: (name: string) => void;
}

/** Where an operator's link to another password leads. Its secret stands behind the mark of the address, and leaves it at once. */
export function Reset({ onSession, onLanguage }: ResetProps) {
  const words = useWords();
  const { t } = words;
  const [token] = useState(() => location.hash.slice(1));
  const [email, setEmail] = useState<string | null>(null);
  const [broken, setBroken] = useState<Problem | null>(null);
  const [password, setPassword] = useState("");
  const { isBusy, problem, run } = useWork();
  useEffect(() => {
    history.replaceState(null, "", location.pathname);
    ask<{ readonly email: string }>("POST", "/password-resets/look-up", { token }).then(
      (found) => setEmail(found.email),
      (thrown) => setBroken(asProblem(thrown)),
    );
  }, [token]);
  useTitle(t("resetTitle"));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run(async () => {
      onSession(await ask<Session>("POST", "/password-resets/use", { token, password }));
      go("");
    });
  };
  if (broken !== null) {
    const isOver = broken.code === "reset_invalid";
    return (
      <Gate
        title={t(isOver ? "resetBroken" : "failed")}
        lead={isOver ? t("resetBrokenLead") : ""}
        onLanguage={onLanguage}
      >
        {!isOver && <Trouble problem={broken} />}
        <Link to="sign-in" class="button plain">
          {t("signIn")}
        </Link>
      </Gate>
    );
  }
  if (email === null) return <Waiting />;
  const isField = problem?.code.startsWith("password_") === true;
  return (
    <Gate title={t("resetTitle")} lead={t("resetLead", { email })} onLanguage={onLanguage}>
      <form onSubmit={submit} noValidate class="stack">
        <input type="hidden" name="email" autocomplete="username" value={email} />
        <Field
          label={t("newPassword")}
          name="password"
          type="password"
          autocomplete="new-password"
          hint={t("passwordHint")}
          value={password}
          onInput={setPassword}
          error={isField && problem !== null ? words.problem(problem.code, null) : undefined}
        />
        {!isField && <Trouble problem={problem} />}
        <Button type="submit" look="primary" isBusy={isBusy}>
          {t("setPassword")}
        </Button>
      </form>
    </Gate>
  );
}
