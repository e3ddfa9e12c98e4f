import { useState } from "preact/hooks";
import { ask, type Session } from "../api.js";
import { useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Button, Field, PageHead, Trouble } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

const FIELD_OF: Readonly<Record<string, string>> = {
  wrong_password: "current",
  password_short: "password",
  password_long: "password",
};

/** What belongs to a person rather than to an organization. */
export function Account({ session }: ViewProps) {
  const words = useWords();
  const { t } = words;
  const [entered, setEntered] = useState({ current: "", password: "" });
  const [isChanged, setChanged] = useState(false);
  const { isBusy, problem, run } = useWork();
  const field = problem === null ? undefined : FIELD_OF[problem.code];
  const errorOf = (name: string) =>
    problem !== null && field === name ? words.problem(problem.code, null) : undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setChanged(false);
    void run(async () => {
      await ask<Session>("POST", "/password", entered);
      setEntered({ current: "", password: "" });
      setChanged(true);
    });
  };
  return (
    <>
      <PageHead title={t("account")} lead={t("accountLead", { email: session.user?.email ?? "" })} />
      <section class="card stack">
        <h2>{t("changePassword")}</h2>
        <form onSubmit={submit} noValidate class="stack">
          {/* Password managers want to know whose password it is. */}
          <input type="hidden" name="email" autocomplete="username" value={session.user?.email} />
          <Field
            label={t("currentPassword")}
            name="current"
            type="password"
            autocomplete="current-password"
            value={entered.current}
            onInput={(current) => setEntered((before) => ({ ...before, current }))}
            error={errorOf("current")}
          />
          <Field
            label={t("newPassword")}
            name="password"
            type="password"
            autocomplete="new-password"
            hint={t("passwordHint")}
            value={entered.password}
            onInput={(password) => setEntered((before) => ({ ...before, password }))}
            error={errorOf("password")}
          />
          {field === undefined && <Trouble problem={problem} />}
          <div class="actions start">
            <Button type="submit" look="primary" isBusy={isBusy}>
              {t("changePassword")}
            </Button>
            <p role="status" class="good">
              {isChanged ? t("passwordChanged") : ""}
            </p>
          </div>
        </form>
      </section>
    </>
  );
}
