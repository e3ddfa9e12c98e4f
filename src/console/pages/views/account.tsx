import { useState } from "preact/hooks";
import {
  callApi,
  currentSession,
  type List,
  type OpenSession,
  type Session,
  type ViewProps,
} from "../api.js";
import { useLoaded, useTask } from "../hooks.js";
import { navigate } from "../router.js";
import { dateAndTime, t } from "../text/language.js";
import { actionColumn, type Column, DataTable } from "../ui/data-table.js";
import { FormDialog } from "../ui/dialog.js";
import { Form, PasswordField, useForm } from "../ui/form.js";
import { Button, ErrorNotice, PageHead, WhenLoaded } from "../ui/parts.js";

/** The user's own settings, which do not depend on any organization. */
export function Account({ session }: ViewProps) {
  const [changes, setChanges] = useState(0);
  return (
    <>
      <PageHead title={t("account")} lead={t("accountLead", { email: session.user?.email ?? "" })} />
      <ChangePassword session={session} onChanged={() => setChanges(changes + 1)} />
      {/* The list is reloaded after a password change, which ends every other session. */}
      <Sessions key={changes} />
      <DeleteAccount session={session} />
    </>
  );
}

interface ChangeProps extends Pick<ViewProps, "session"> {
  readonly onChanged: () => void;
}

function ChangePassword({ session, onChanged }: ChangeProps) {
  const [isChanged, setChanged] = useState(false);
  const form = useForm(
    { current: "", password: "" },
    { wrong_password: "current", password_short: "password", password_long: "password" },
  );
  const submit = () => {
    setChanged(false);
    void form.run(async () => {
      await callApi<Session>("POST", "/password", form.values);
      form.clear();
      setChanged(true);
      onChanged();
    });
  };
  return (
    <section class="card stack">
      <h2>{t("changePassword")}</h2>
      <Form onSubmit={submit}>
        <UserName session={session} />
        <PasswordField {...form.field("current")} label={t("currentPassword")} />
        <PasswordField {...form.field("password")} label={t("newPassword")} isNew />
        <ErrorNotice problem={form.problem} />
        <div class="actions start">
          <Button type="submit" look="primary" isBusy={form.isBusy} text={t("changePassword")} />
          <p role="status" class="good">
            {isChanged ? t("passwordChanged") : ""}
          </p>
        </div>
      </Form>
    </section>
  );
}

/** A hidden field that tells password managers whose password a form asks for. */
function UserName({ session }: Pick<ViewProps, "session">) {
  return <input type="hidden" name="email" autocomplete="username" value={session.user?.email} />;
}

/** Lists where the user is signed in, with buttons to sign out there. */
function Sessions() {
  const [sessions, reload] = useLoaded<List<OpenSession>>("/sessions");
  const { isBusy, problem, run } = useTask();
  const end = (path: string) =>
    void run(async () => {
      await callApi("DELETE", path).finally(reload);
    });
  const columns = sessionColumns((id) => end(`/sessions/${id}`));
  return (
    <section>
      <div class="section-head">
        <h2>{t("sessions")}</h2>
        {sessions.state === "ready" && sessions.value.data.length > 1 && (
          <Button isBusy={isBusy} onClick={() => end("/sessions")} text={t("signOutOthers")} />
        )}
      </div>
      <ErrorNotice problem={problem} />
      <WhenLoaded loaded={sessions} retry={reload}>
        {({ data }) => (
          <DataTable
            class="sessions"
            label={t("sessions")}
            columns={columns}
            rows={data}
            keyOf={({ id }) => id}
          />
        )}
      </WhenLoaded>
    </section>
  );
}

function sessionColumns(end: (id: string) => void): readonly Column<OpenSession>[] {
  return [
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
    { id: "since", title: t("signedIn"), cell: ({ created_at }) => dateAndTime(created_at) },
    { id: "until", title: t("until"), cell: ({ expires_at }) => dateAndTime(expires_at) },
    actionColumn(
      t("signOut"),
      ({ agent }) => agent ?? t("unknownBrowser"),
      ({ id }) => end(id),
      ({ is_current: isCurrent }) => (isCurrent ? "" : undefined),
    ),
  ];
}

function DeleteAccount({ session }: Pick<ViewProps, "session">) {
  const [isOpen, setOpen] = useState(false);
  return (
    <section class="card row">
      <div>
        <h2>{t("deleteAccount")}</h2>
        <p class="hint">{t("deleteAccountHint")}</p>
      </div>
      <Button look="danger" onClick={() => setOpen(true)} text={t("deleteAccount")} />
      {isOpen && <DeleteDialog session={session} onClose={() => setOpen(false)} />}
    </section>
  );
}

interface DeleteProps extends Pick<ViewProps, "session"> {
  readonly onClose: () => void;
}

function DeleteDialog({ session, onClose }: DeleteProps) {
  const form = useForm({ password: "" }, { wrong_password: "password" });
  const remove = () =>
    void form.run(async () => {
      currentSession.set(await callApi<Session>("POST", "/account/delete", form.values));
      navigate("sign-in");
    });
  return (
    <FormDialog
      title={t("deleteTitle", { email: session.user?.email ?? "" })}
      action={t("deleteForGood")}
      look="danger"
      isBusy={form.isBusy}
      problem={form.problem}
      onSubmit={remove}
      onClose={onClose}
    >
      <ul class="points">
        <li>{t("deletePoint1")}</li>
        <li>{t("deletePoint2")}</li>
        <li>{t("deletePoint3")}</li>
      </ul>
      <UserName session={session} />
      <PasswordField {...form.field("password")} label={t("password")} />
    </FormDialog>
  );
}
