import { useState } from "preact/hooks";
import { ask, type OpenSession, type Session } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { go } from "../router.js";
import { useWords } from "../text/language.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { Button, Dialog, Field, PageHead, Shown, Trouble } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

const FIELD_OF: Readonly<Record<string, string>> = {
  wrong_password: "current",
  password_short: "password",
  password_long: "password",
};

/** What belongs to a person rather than to an organization. */
export function Account({ session, onSession }: ViewProps) {
  const { t } = useWords();
  const [changes, setChanges] = useState(0);
  return (
    <>
      <PageHead title={t("account")} lead={t("accountLead", { email: session.user?.email ?? "" })} />
      {/* Another password ends every other session. */}
      <ChangePassword session={session} onChanged={() => setChanges(changes + 1)} />
      <Sessions key={changes} />
      <DeleteAccount session={session} onSession={onSession} />
    </>
  );
}

interface ChangeProps extends Pick<ViewProps, "session"> {
  readonly onChanged: () => void;
}

function ChangePassword({ session, onChanged }: ChangeProps) {
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
      onChanged();
    });
  };
  return (
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
  );
}

/** Where the person is signed in, and how to end that. */
function Sessions() {
  const { t, time } = useWords();
  const [sessions, reload] = useLoaded<{ readonly data: readonly OpenSession[] }>("/sessions");
  const { isBusy, problem, run } = useWork();
  const end = (path: string) =>
    run(async () => {
      await ask("DELETE", path).finally(() => reload());
    });
  const columns: readonly Column<OpenSession>[] = [
    {
      id: "agent",
      title: t("browser"),
      isHead: true,
      cell: ({ agent, address, is_current: isCurrent }) => (
        <>
          {agent ?? t("unknownBrowser")}
          {isCurrent && <span class="tag">{t("thisOne")}</span>}
          {address !== null && <span class="below mono">{address}</span>}
        </>
      ),
    },
    { id: "since", title: t("signedIn"), cell: ({ created_at }) => time(created_at) },
    { id: "until", title: t("until"), cell: ({ expires_at }) => time(expires_at) },
    {
      id: "act",
      title: t("signOut"),
      isTitleHidden: true,
      isEnd: true,
      cell: ({ id, agent, is_current: isCurrent }) =>
        !isCurrent && (
          <Button
            look="quiet"
            onClick={() => void end(`/sessions/${id}`)}
            label={`${t("signOut")}: ${agent ?? t("unknownBrowser")}`}
          >
            {t("signOut")}
          </Button>
        ),
    },
  ];
  return (
    <section>
      <div class="section-head">
        <h2>{t("sessions")}</h2>
        {sessions.state === "ready" && sessions.value.data.length > 1 && (
          <Button isBusy={isBusy} onClick={() => void end("/sessions")}>
            {t("signOutOthers")}
          </Button>
        )}
      </div>
      <Trouble problem={problem} />
      <Shown loaded={sessions} retry={() => void reload()}>
        {({ data }) => (
          <DataTable
            name="sessions"
            label={t("sessions")}
            columns={columns}
            rows={data}
            keyOf={({ id }) => id}
          />
        )}
      </Shown>
    </section>
  );
}

function DeleteAccount({ session, onSession }: Pick<ViewProps, "session" | "onSession">) {
  const { t } = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="card row">
      <div>
        <h2>{t("deleteAccount")}</h2>
        <p class="hint">{t("deleteAccountHint")}</p>
      </div>
      <Button look="danger" onClick={() => setOpen(true)}>
        {t("deleteAccount")}
      </Button>
      {isOpen && <DeleteDialog {...{ session, onSession }} onClose={() => setOpen(false)} />}
    </section>
  );
}

interface DeleteProps extends Pick<ViewProps, "session" | "onSession"> {
  readonly onClose: () => void;
}

function DeleteDialog({ session, onSession, onClose }: DeleteProps) {
  const words = useWords();
  const { t } = words;
  const [password, setPassword] = useState("");
  const { isBusy, problem, run } = useWork();
  const isField = problem?.code === "wrong_password";
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run(async () => {
      onSession(await ask<Session>("POST", "/account/delete", { password }));
      go("sign-in");
    });
  };
  return (
    <Dialog title={t("deleteTitle", { email: session.user?.email ?? "" })} onClose={onClose}>
      <form onSubmit={submit} noValidate class="stack">
        <ul class="points">
          <li>{t("deletePoint1")}</li>
          <li>{t("deletePoint2")}</li>
          <li>{t("deletePoint3")}</li>
        </ul>
        <input type="hidden" name="email" autocomplete="username" value={session.user?.email} />
        <Field
          label={t("password")}
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onInput={setPassword}
          error={isField ? words.problem("wrong_password", null) : undefined}
        />
        {!isField && <Trouble problem={problem} />}
        <div class="actions">
          <Button onClick={onClose}>{t("cancel")}</Button>
          <Button type="submit" look="danger" isBusy={isBusy}>
            {t("deleteForGood")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
