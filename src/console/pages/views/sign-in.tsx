import { useState } from "preact/hooks";
import { FREE_GRANT_CREDITS } from "../../../../core/domain/usage/tariff.js";
import { callApi, type Prices, type Session } from "../api.js";
import { useLoaded, useTitle } from "../hooks.js";
import { Link } from "../router.js";
import { enter } from "../session.js";
import { language, t } from "../text/language.js";
import { Field, Form, PasswordField, useForm } from "../ui/form.js";
import { Button, Contact, ErrorNotice } from "../ui/parts.js";
import { SignedOutPage } from "../ui/signed-out-page.js";

const FIELDS = { email: "", password: "", organization: "" };
const FIELD_OF: Readonly<Record<string, keyof typeof FIELDS>> = {
  email_invalid: "email",
  email_taken: "email",
  password_short: "password",
  password_long: "password",
  name_required: "organization",
  name_long: "organization",
  name_invalid: "organization",
};

export function SignIn({ isNew }: { readonly isNew: boolean }) {
  useTitle(t(isNew ? "signUp" : "signIn"));
  return (
    <SignedOutPage
      title={t(isNew ? "signUpTitle" : "signInTitle")}
      lead={isNew ? t("signUpLead", { n: FREE_GRANT_CREDITS }) : t("signInLead")}
    >
      <AccountForm key={String(isNew)} isNew={isNew} />
      <p class="switch">
        {t(isNew ? "haveAccount" : "noAccount")}{" "}
        <Link to={isNew ? "sign-in" : "sign-up"}>{t(isNew ? "signIn" : "signUp")}</Link>
      </p>
      {!isNew && <ForgotPassword />}
    </SignedOutPage>
  );
}

/** States who can reset a password. */
function ForgotPassword() {
  const [prices] = useLoaded<Prices>("/prices");
  const contact = prices.state === "ready" ? prices.value.contact : null;
  if (prices.state === "ready" && prices.value.mail) return <ResetByMail />;
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

/** Requests a link for a new password. */
function ResetByMail() {
  const { isBusy, problem, run, values, field } = useForm({ email: "" }, { email_invalid: "email" });
  const [isSent, setSent] = useState(false);
  const submit = () =>
    void run(async () => {
      await callApi("POST", "/password-resets", { ...values, language: language.value });
      setSent(true);
    });
  return (
    <details class="more">
      <summary>{t("forgotByMail")}</summary>
      {isSent ? (
        <p role="status">{t("resetMailSent")}</p>
      ) : (
        <Form onSubmit={submit}>
          <p class="hint">{t("resetMailLead")}</p>
          <Field {...field("email")} label={t("email")} type="email" autocomplete="username" />
          <ErrorNotice problem={problem} />
          <Button type="submit" look="plain" isBusy={isBusy} text={t("sendLink")} />
        </Form>
      )}
    </details>
  );
}

interface AccountFormProps {
  readonly isNew: boolean;
  /** The token of an invitation. An invited user joins that organization, and sign-up creates none. */
  readonly invitation?: string;
  /** Called after signing in. By default the user's pages are shown. */
  readonly onSignedIn?: (session: Session) => void;
}

export function AccountForm({ isNew, invitation, onSignedIn = enter }: AccountFormProps) {
  const form = useForm(FIELDS, FIELD_OF);
  const submit = (element: HTMLFormElement) => {
    // The fields are read directly, because a password manager may have filled them in without an event.
    const entered = Object.fromEntries(new FormData(element));
    void form.run(async () => {
      const path = isNew ? "/sign-up" : "/sign-in";
      const body = { ...entered, ...(invitation !== undefined && { invitation }) };
      onSignedIn(await callApi<Session>("POST", path, body));
    });
  };
  return (
    <Form onSubmit={submit}>
      <Field {...form.uncontrolled("email")} label={t("email")} type="email" autocomplete="username" />
      <PasswordField {...form.uncontrolled("password")} label={t("password")} isNew={isNew} />
      {isNew && invitation === undefined && (
        <Field
          {...form.uncontrolled("organization")}
          label={t("organizationName")}
          autocomplete="organization"
        />
      )}
      <ErrorNotice problem={form.problem} />
      <Button type="submit" look="primary" isBusy={form.isBusy} text={t(isNew ? "signUp" : "signIn")} />
    </Form>
  );
}
