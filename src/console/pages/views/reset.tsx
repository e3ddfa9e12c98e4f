import { callApi, type Session } from "../api.js";
import { useLinkSecret, useTitle } from "../hooks.js";
import { navigate } from "../router.js";
import { enter } from "../session.js";
import { t } from "../text/language.js";
import { Form, PasswordField, useForm } from "../ui/form.js";
import { Button, ErrorNotice } from "../ui/parts.js";
import { BrokenLink, LoadingPage, SignedOutPage } from "../ui/signed-out-page.js";

/** The page that an operator's password reset link opens. */
export function Reset() {
  const { token, found, problem } = useLinkSecret<{ readonly email: string }>("/password-resets/look-up");
  const form = useForm({ password: "" }, { password_short: "password", password_long: "password" });
  useTitle(t("resetTitle"));
  if (problem !== null) return <BrokenLink link="reset" problem={problem} />;
  if (found === null) return <LoadingPage />;
  const submit = () =>
    void form.run(async () => {
      enter(await callApi<Session>("POST", "/password-resets/use", { token, ...form.values }));
      navigate("");
    });
  return (
    <SignedOutPage title={t("resetTitle")} lead={t("resetLead", found)}>
      <Form onSubmit={submit}>
        <input type="hidden" name="email" autocomplete="username" value={found.email} />
        <PasswordField {...form.field("password")} label={t("newPassword")} isNew />
        <ErrorNotice problem={form.problem} />
        <Button type="submit" look="primary" isBusy={form.isBusy} text={t("setPassword")} />
      </Form>
    </SignedOutPage>
  );
}
