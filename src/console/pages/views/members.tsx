import { useState } from "preact/hooks";
import {
  type ApiKey,
  callApi,
  currentSession,
  type Invitation,
  type List,
  type Member,
  type Organization,
  type Prices,
  type Session,
  type ViewProps,
} from "../api.js";
import { useLoaded, useTask } from "../hooks.js";
import { date, language, t } from "../text/language.js";
import { actionColumn, type Column, DataTable } from "../ui/data-table.js";
import { FormDialog, SecretDialog } from "../ui/dialog.js";
import { Field, Select, useForm } from "../ui/form.js";
import { Button, ErrorNotice, PageHead, WhenLoaded } from "../ui/parts.js";

const ROLES = ["owner", "member"] as const;

export function Members({ organization, session }: ViewProps) {
  const [isInviting, setInviting] = useState(false);
  const [invitedCount, setInvitedCount] = useState(0);
  const at = `/organizations/${organization.id}`;
  const isOwner = organization.role === "owner";
  return (
    <>
      <PageHead title={t("members")} lead={t("membersLead")}>
        {isOwner && <Button look="primary" onClick={() => setInviting(true)} text={t("invite")} />}
      </PageHead>
      <OrganizationCard organization={organization} />
      <MemberList at={at} isOwner={isOwner} userId={session.user?.id} />
      {isOwner && <Invitations key={invitedCount} at={at} />}
      {isInviting && (
        <InviteDialog
          at={at}
          onClose={() => {
            setInviting(false);
            setInvitedCount(invitedCount + 1);
          }}
        />
      )}
    </>
  );
}

interface MemberListProps {
  readonly at: string;
  readonly isOwner: boolean;
  readonly userId: string | undefined;
}

function MemberList({ at, isOwner, userId }: MemberListProps) {
  const [members, reload] = useLoaded<List<Member>>(`${at}/members`);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const { isBusy, problem, run } = useTask();
  const setRole = (member: Member, role: string) =>
    void run(async () => {
      await callApi("PATCH", `${at}/members/${member.user_id}`, { role }).finally(reload);
    });
  const remove = (member: Member, revokesKeys: boolean) =>
    void run(async () => {
      setLeaving(null);
      await callApi("DELETE", `${at}/members/${member.user_id}?revoke_keys=${revokesKeys}`);
      await reload();
    });
  const columns = memberColumns({
    userId,
    // The last member cannot be removed.
    canRemove: isOwner && members.state === "ready" && members.value.data.length > 1,
    canChange: isOwner,
    isBusy,
    setRole,
    remove: setLeaving,
  });
  return (
    <>
      <ErrorNotice problem={problem} />
      <WhenLoaded loaded={members} retry={reload}>
        {({ data }) => (
          <DataTable
            class="members"
            label={t("members")}
            columns={columns}
            rows={data}
            keyOf={({ user_id }) => user_id}
          />
        )}
      </WhenLoaded>
      {leaving !== null && (
        <RemoveDialog
          at={at}
          member={leaving}
          onClose={() => setLeaving(null)}
          onRemove={(revokesKeys) => remove(leaving, revokesKeys)}
        />
      )}
    </>
  );
}

interface MemberColumns {
  readonly userId: string | undefined;
  readonly canRemove: boolean;
  readonly canChange: boolean;
  readonly isBusy: boolean;
  readonly setRole: (member: Member, role: string) => void;
  readonly remove: (member: Member) => void;
}

function memberColumns(options: MemberColumns): readonly Column<Member>[] {
  const { userId, canRemove, canChange, isBusy, setRole, remove } = options;
  return [
    {
      id: "email",
      title: t("email"),
      isHead: true,
      cell: ({ email, user_id }) => (
        <>
          {email}
          {user_id === userId && <span class="tag">{t("you")}</span>}
        </>
      ),
    },
    {
      id: "role",
      title: t("role"),
      cell: (member) =>
        canChange ? (
          <Select
            label={`${t("role")}: ${member.email}`}
            value={member.role}
            disabled={isBusy}
            options={ROLES.map((value) => ({ value, text: t(value) }))}
            onChoose={(role) => setRole(member, role)}
          />
        ) : (
          t(member.role)
        ),
    },
    { id: "joined", title: t("joined"), cell: ({ created_at }) => date(created_at) },
    actionColumn(
      t("remove"),
      ({ email }) => email,
      remove,
      () => (canRemove ? undefined : ""),
    ),
  ];
}

/** The organization's name, which owners can change, and the ID that the operator needs. */
function OrganizationCard({ organization }: Pick<ViewProps, "organization">) {
  const [isRenaming, setRenaming] = useState(false);
  return (
    <section class="card row">
      <div class="named">
        <h2>{organization.name}</h2>
        <p class="hint mono">{organization.id}</p>
      </div>
      {organization.role === "owner" && <Button onClick={() => setRenaming(true)} text={t("rename")} />}
      {isRenaming && <RenameDialog organization={organization} onClose={() => setRenaming(false)} />}
    </section>
  );
}

interface RenameProps extends Pick<ViewProps, "organization"> {
  readonly onClose: () => void;
}

function RenameDialog({ organization, onClose }: RenameProps) {
  const { isBusy, problem, run, values, field } = useForm(
    { name: organization.name },
    { name_required: "name", name_long: "name", name_invalid: "name" },
  );
  const rename = () =>
    void run(async () => {
      await callApi("PATCH", `/organizations/${organization.id}`, values);
      currentSession.set(await callApi<Session>("GET", "/session"));
      onClose();
    });
  return (
    <FormDialog
      title={t("renameTitle")}
      action={t("rename")}
      {...{ isBusy, problem, onClose }}
      onSubmit={rename}
    >
      <Field {...field("name")} label={t("organizationName")} autocomplete="off" />
    </FormDialog>
  );
}

interface RemoveProps {
  readonly at: string;
  readonly member: Member;
  readonly onClose: () => void;
  readonly onRemove: (revokesKeys: boolean) => void;
}

function RemoveDialog({ at, member, onClose, onRemove }: RemoveProps) {
  const [keys] = useLoaded<List<ApiKey>>(`${at}/keys`);
  const [revokesKeys, setRevokesKeys] = useState(false);
  const made =
    keys.state === "ready"
      ? keys.value.data.filter((key) => key.revoked_at === null && key.created_by?.user_id === member.user_id)
      : [];
  return (
    <FormDialog
      title={t("removeTitle", { name: member.email })}
      action={t("remove")}
      look="danger"
      onSubmit={() => onRemove(revokesKeys)}
      onClose={onClose}
    >
      <p>{t("removeLead")}</p>
      {made.length > 0 && (
        <fieldset class="choices">
          <legend>{t("keys")}</legend>
          <label>
            <input
              type="checkbox"
              checked={revokesKeys}
              onChange={(event) => setRevokesKeys(event.currentTarget.checked)}
            />
            {t("revokeKeysToo", { names: made.map(({ name }) => name).join(", ") })}
          </label>
        </fieldset>
      )}
    </FormDialog>
  );
}

function Invitations({ at }: { readonly at: string }) {
  const [open, reload] = useLoaded<List<Invitation>>(`${at}/invitations`);
  const { problem, run } = useTask();
  const withdraw = (id: string) =>
    void run(async () => {
      await callApi("DELETE", `${at}/invitations/${id}`).finally(reload);
    });
  if (open.state !== "ready" || open.value.data.length === 0) return null;
  return (
    <section>
      <h2>{t("openInvitations")}</h2>
      <ErrorNotice problem={problem} />
      <ul class="lines">
        {open.value.data.map(({ id, role, expires_at }) => (
          <li key={id}>
            <span>
              {t(role)} · {t("until")} {date(expires_at)}
            </span>
            <Button look="quiet" onClick={() => withdraw(id)} text={t("withdraw")} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function InviteDialog({ at, onClose }: { readonly at: string; readonly onClose: () => void }) {
  const [role, setRole] = useState<Organization["role"]>("member");
  const [link, setLink] = useState<string | null>(null);
  const [prices] = useLoaded<Prices>("/prices");
  const { isBusy, problem, run, values, field } = useForm({ email: "" }, { email_invalid: "email" });
  const sendsMail = prices.state === "ready" && prices.value.mail;
  const create = () =>
    void run(async () => {
      const email = values.email.trim();
      const body = { role, ...(email !== "" && { email, language: language.value }) };
      const { path } = await callApi<{ readonly path: string }>("POST", `${at}/invitations`, body);
      setLink(location.origin + path);
    });
  const shared = { title: t("inviteTitle"), onClose };
  if (link !== null) {
    return (
      <SecretDialog
        {...shared}
        lead={values.email === "" ? t("inviteLead") : t("invited", values)}
        secret={link}
        label={t("inviteLink")}
        warning={t("linkUncopied")}
      />
    );
  }
  return (
    <FormDialog {...shared} action={t("createLink")} isBusy={isBusy} problem={problem} onSubmit={create}>
      <p>{t("inviteLead")}</p>
      {sendsMail && (
        <Field
          {...field("email")}
          label={t("inviteEmail")}
          hint={t("inviteEmailHint")}
          type="email"
          required={false}
          autocomplete="off"
        />
      )}
      <fieldset class="choices">
        <legend>{t("role")}</legend>
        {(["member", "owner"] as const).map((name) => (
          <label key={name}>
            <input type="radio" name="role" checked={role === name} onChange={() => setRole(name)} />
            {t(name)}
          </label>
        ))}
      </fieldset>
    </FormDialog>
  );
}
