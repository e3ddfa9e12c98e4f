import { useState } from "preact/hooks";
import { type ApiKey, ask, type Invitation, type Member, type Organization } from "../api.js";
import { useLoaded, useWork } from "../hooks.js";
import { useWords } from "../text/language.js";
import { Button, CopyText, Dialog, PageHead, Shown, TableBox, Trouble } from "../ui/parts.js";
import type { ViewProps } from "../view-props.js";

export function Members({ organization, session }: ViewProps) {
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
  return (
    <>
      <PageHead title={t("members")} lead={t("membersLead")}>
        {isOwner && (
          <Button look="primary" onClick={() => setInviting(true)}>
            {t("invite")}
          </Button>
        )}
      </PageHead>
      <Trouble problem={problem} />
      <Shown loaded={members} retry={() => void reload()}>
        {({ data }) => (
          <TableBox label={t("members")}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{t("email")}</th>
                  <th scope="col">{t("role")}</th>
                  <th scope="col">{t("joined")}</th>
                  <th scope="col">
                    <span class="hidden">{t("remove")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((member) => (
                  <tr key={member.user_id}>
                    <th scope="row">
                      {member.email}
                      {member.user_id === session.user?.id && <span class="tag">{t("you")}</span>}
                    </th>
                    <td>
                      {isOwner ? (
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
                      )}
                    </td>
                    <td>{date(member.created_at)}</td>
                    <td class="end">
                      {isOwner && data.length > 1 && (
                        <Button
                          look="quiet"
                          onClick={() => setLeaving(member)}
                          label={`${t("remove")}: ${member.email}`}
                        >
                          {t("remove")}
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableBox>
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
  return (
    <Dialog title={t("inviteTitle")} onClose={onClose}>
      <p>{t("inviteLead")}</p>
      {link === null ? (
        <>
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
        </>
      ) : (
        <>
          <CopyText text={link} label={t("inviteLink")} />
          <div class="actions">
            <Button look="primary" onClick={onClose}>
              {t("close")}
            </Button>
          </div>
        </>
      )}
    </Dialog>
  );
}
