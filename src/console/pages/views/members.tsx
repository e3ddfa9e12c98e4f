import { useState } from "preact/hooks";
import { type ApiKey, ask, type Invitation, type Member, type Organization, type Session } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { type Column, DataTable } from "../ui/data-table.js";
import { Button, Dialog, Field, PageHead, Shown, Trouble } from "../ui/parts.js";
import { SecretDialog } from "../ui/secret-dialog.js";
import type { ViewProps } from "../view-props.js";

export function Members({ organization, session, onSession }: ViewProps) {
  const { t, date } = useWords();
  const at = `/organizations/${organization.id}`;
  const isOwner = organization.role === "owner";
  const [members, reload] = useLoaded<{ readonly data: readonly Member[] }>(`${at}/members`);
  const [isInviting, setInviting] = useState(false);
  const [invitedCount, setInvitedCount] = useState(0);
  const [leaving, setLeaving] = useState<Member | null>(null);
  const { isBusy, problem, run } = useWork();
  const setRole = (member: Member, role: string) =>
    run(async () => {
      await ask("PATCH", `${at}/members/${member.user_id}`, { role }).finally(() => reload());
    });
  const remove = (member: Member, revokesKeys: boolean) =>
    run(async () => {
      setLeaving(null);
      await ask("DELETE", `${at}/members/${member.user_id}?revoke_keys=${revokesKeys}`);
      await reload();
    });
  const columns = (hasOthers: boolean): readonly Column<Member>[] => [
    {
      id: "email",
      title: t("email"),
      isHead: true,
      cell: ({ email, user_id }) => (
        <>
          {email}
          {user_id === session.user?.id && <span class="tag">{t("you")}</span>}
        </>
      ),
    },
    {
      id: "role",
      title: t("role"),
      cell: (member) =>
        isOwner ? (
          <select
            aria-label={`${t("role")}: ${member.email}`}
            value={member.role}
            disabled={isBusy}
            onChange={(event) => void setRole(member, event.currentTarget.value)}
          >
            <option value="owner">{t("owner")}</option>
            <option value="member">{t("member")}</option>
          </select>
        ) : (
          t(member.role)
        ),
    },
    { id: "joined", title: t("joined"), cell: ({ created_at }) => date(created_at) },
    {
      id: "act",
      title: t("remove"),
      isTitleHidden: true,
      isEnd: true,
      cell: (member) =>
        isOwner &&
        hasOthers && (
          <Button look="quiet" onClick={() => setLeaving(member)} label={`${t("remove")}: ${member.email}`}>
            {t("remove")}
          </Button>
        ),
    },
  ];
  return (
    <>
      <PageHead title={t("members")} lead={t("membersLead")}>
        {isOwner && (
          <Button look="primary" onClick={() => setInviting(true)}>
            {t("invite")}
          </Button>
        )}
      </PageHead>
      <OrganizationCard organization={organization} onSession={onSession} />
      <Trouble problem={problem} />
      <Shown loaded={members} retry={() => void reload()}>
        {({ data }) => (
          <DataTable
            name="members"
            label={t("members")}
            columns={columns(data.length > 1)}
            rows={data}
            keyOf={({ user_id }) => user_id}
          />
        )}
      </Shown>
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
      {leaving !== null && (
        <RemoveDialog
          at={at}
          member={leaving}
          onClose={() => setLeaving(null)}
          onRemove={(revokesKeys) => void remove(leaving, revokesKeys)}
        />
      )}
    </>
  );
}

/** The organization's name, which owners change, and the id by which its operator knows it. */
function OrganizationCard({ organization, onSession }: Pick<ViewProps, "organization" | "onSession">) {
  const { t } = useWords();
  const [isRenaming, setRenaming] = useState(false);
  return (
    <section class="card row">
      <div class="named">
        <h2>{organization.name}</h2>
        <p class="hint mono">{organization.id}</p>
      </div>
      {organization.role === "owner" && <Button onClick={() => setRenaming(true)}>{t("rename")}</Button>}
      {isRenaming && <RenameDialog {...{ organization, onSession }} onClose={() => setRenaming(false)} />}
    </section>
  );
}

interface RenameProps extends Pick<ViewProps, "organization" | "onSession"> {
  readonly onClose: () => void;
}

function RenameDialog({ organization, onSession, onClose }: RenameProps) {
  const words = useWords();
  const { t } = words;
  const [name, setName] = useState(organization.name);
  const { isBusy, problem, run } = useWork();
  const isField = problem?.code.startsWith("name_") === true;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run(async () => {
      await ask("PATCH", `/organizations/${organization.id}`, { name });
      onSession(await ask<Session>("GET", "/session"));
      onClose();
    });
  };
  return (
    <Dialog title={t("renameTitle")} onClose={onClose}>
      <form onSubmit={submit} noValidate class="stack">
        <Field
          label={t("organizationName")}
          name="name"
          value={name}
          onInput={setName}
          autocomplete="off"
          error={isField && problem !== null ? words.problem(problem.code, null) : undefined}
        />
        {!isField && <Trouble problem={problem} />}
        <div class="actions">
          <Button onClick={onClose}>{t("cancel")}</Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            {t("rename")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface RemoveProps {
  readonly at: string;
  readonly member: Member;
  readonly onClose: () => void;
  readonly onRemove: (revokesKeys: boolean) => void;
}

function RemoveDialog({ at, member, onClose, onRemove }: RemoveProps) {
  const { t } = useWords();
  const [keys] = useLoaded<{ readonly data: readonly ApiKey[] }>(`${at}/keys`);
  const [revokesKeys, setRevokesKeys] = useState(false);
  const made =
    keys.state === "ready"
      ? keys.value.data.filter((key) => key.revoked_at === null && key.created_by?.user_id === member.user_id)
      : [];
  return (
    <Dialog title={t("removeTitle", { name: member.email })} onClose={onClose}>
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
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        <Button look="danger" onClick={() => onRemove(revokesKeys)}>
          {t("remove")}
        </Button>
      </div>
    </Dialog>
  );
}

function Invitations({ at }: { readonly at: string }) {
  const { t, date } = useWords();
  const [open, reload] = useLoaded<{ readonly data: readonly Invitation[] }>(`${at}/invitations`);
  const { problem, run } = useWork();
  const withdraw = (id: string) =>
    run(async () => {
      await ask("DELETE", `${at}/invitations/${id}`).finally(() => reload());
    });
  if (open.state !== "ready" || open.value.data.length === 0) return null;
  return (
    <section>
      <h2>{t("openInvitations")}</h2>
      <Trouble problem={problem} />
      <ul class="lines">
        {open.value.data.map(({ id, role, expires_at }) => (
          <li key={id}>
            <span>
              {t(role)} · {t("until")} {date(expires_at)}
            </span>
            <Button look="quiet" onClick={() => void withdraw(id)}>
              {t("withdraw")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function InviteDialog({ at, onClose }: { readonly at: string; readonly onClose: () => void }) {
  const { t } = useWords();
  const [role, setRole] = useState<Organization["role"]>("member");
  const [link, setLink] = useState<string | null>(null);
  const { isBusy, problem, run } = useWork();
  const create = () =>
    run(async () => {
      const { path } = await ask<{ readonly path: string }>("POST", `${at}/invitations`, { role });
      setLink(location.origin + path);
    });
  if (link !== null) {
    return (
      <SecretDialog
        title={t("inviteTitle")}
        lead={t("inviteLead")}
        secret={link}
        label={t("inviteLink")}
        warning={t("linkUncopied")}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title={t("inviteTitle")} onClose={onClose}>
      <p>{t("inviteLead")}</p>
      <fieldset class="choices">
        <legend>{t("role")}</legend>
        {(["member", "owner"] as const).map((name) => (
          <label key={name}>
            <input type="radio" name="role" checked={role === name} onChange={() => setRole(name)} />
            {t(name)}
          </label>
        ))}
      </fieldset>
      <Trouble problem={problem} />
      <div class="actions">
        <Button onClick={onClose}>{t("cancel")}</Button>
        <Button look="primary" isBusy={isBusy} onClick={() => void create()}>
          {t("createLink")}
        </Button>
      </div>
    </Dialog>
  );
}
