import { FREE_GRANT_CREDITS } from "../../../../core/domain/usage/tariff.js";
import { ask, type Prices, type Session } from "../api.js";
import { useLoaded, useTitle, useWork } from "../hooks.js";
import { Link } from "../router.js";
import { useWords } from "../text/language.js";
import { Contact } from "../ui/contact.js";
import { Gate } from "../ui/gate.js";
import { Button, Field, Trouble } from "../ui/parts.js";

const FIELD_OF: Readonly<Record<string, string>> = {
  email_invalid: "email",
  email_taken: "email",
  password_short: "password",
  password_long: "password",
  name_required: "organization",
  name_long: "organization",
  name_invalid: "organization",
};

interface SignInProps {
  readonly isNew: boolean;
  readonly onSession: (session: Session) => void;
  readonly onLanguage: (name: string) => void;
}

export function SignIn({ isNew, onSession, onLanguage }: SignInProps) {
  const { t } = useWords();
  useTitle(t(isNew ? "signUp" : "signIn"));
  return (
    <Gate
      title={t(isNew ? "signUpTitle" : "signInTitle")}
      lead={isNew ? t("signUpLead", { n: FREE_GRANT_CREDITS }) : t("signInLead")}
      onLanguage={onLanguage}
    >
      <AccountForm key={String(isNew)} isNew={isNew} onSession={onSession} />
      <p class="switch">
        {t(isNew ? "haveAccount" : "noAccount")}{" "}
        <Link to={isNew ? "sign-in" : "sign-up"}>{t(isNew ? "signIn" : "signUp")}</Link>
      </p>
      {!isNew && <Forgotten />}
    </Gate>
  );
}

/** Who gives back a lost password. */
function Forgotten() {
  const { t } = useWords();
  const [prices] = useLoaded<Prices>("/prices");
  const contact = prices.state === "ready" ? prices.value.contact : null;
  return (
    <p class="switch hint">
      {t("forgotPassword")}
      {contact !== null && (
        <>
          {" "}
          <Contact address={contact} />
        </>
      )}
    </p>
  );
}

interface AccountFormProps {
  readonly isNew: boolean;
  /** Of a person who was invited: no organization of their own is made. */
  readonly invitation?: string;
  readonly onSession: (session: Session) => void;
}

export function AccountForm({ isNew, invitation, onSession }: AccountFormProps) {
  const words = useWords();
  const { t } = words;
  const { isBusy, problem, run } = useWork();
  const field = problem === null ? undefined : FIELD_OF[problem.code];
  const errorOf = (name: string) =>
    problem !== null && field === name ? words.problem(problem.code, null) : undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const entered = Object.fromEntries(new FormData(event.currentTarget));
    void run(async () => {
      const path = isNew ? "/sign-up" : "/sign-in";
      onSession(
        await ask<Session>("POST", path, { ...entered, ...(invitation !== undefined && { invitation }) }),
      );
    });
  };
  return (
    <form onSubmit={submit} noValidate class="stack">
      <Field label={t("email")} name="email" type="email" autocomplete="username" error={errorOf("email")} />
      <Field
        label={t("password")}
        name="password"
        type="password"
        autocomplete={isNew ? "new-password" : "current-password"}
        {...(isNew && { hint: t("passwordHint") })}
        error={errorOf("password")}
      />
      {isNew && invitation === undefined && (
        <Field
          label={t("organizationName")}
          name="organization"
          autocomplete="organization"
          error={errorOf("organization")}
        />
      )}
      {field === undefined && <Trouble problem={problem} />}
      <Button type="submit" look="primary" isBusy={isBusy}>
        {t(isNew ? "signUp" : "signIn")}
      </Button>
    </form>
  );
}
