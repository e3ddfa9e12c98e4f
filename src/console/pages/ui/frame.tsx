import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isPage, isSignedInPath, type SignedInPath } from "../../paths.js";
import { ask, type Credits, creditsChanged, type Organization, type Session } from "../api.js";
import { useLoaded } from "../hooks.js";
import { go, Link } from "../router.js";
import { PLAYGROUND, servedPages } from "../served.js";
import type { TextName } from "../text/en.js";
import { useWords } from "../text/language.js";
import type { ViewProps } from "../view-props.js";
import { Account } from "../views/account.js";
import { CreditsView } from "../views/credits.js";
import { Keys } from "../views/keys.js";
import { Limits } from "../views/limits.js";
import { Members } from "../views/members.js";
import { NotFound, ServedElsewhere } from "../views/not-found.js";
import { Overview } from "../views/overview.js";
import { Status } from "../views/status.js";
import { Usage } from "../views/usage.js";
import { Empty, PageHead } from "./parts.js";
import { Listen, Speak, Transcribe } from "./playground.js";
import { Preferences } from "./preferences.js";

const VIEWS: Readonly<Record<SignedInPath, (props: ViewProps) => ComponentChildren>> = {
  "": Overview,
  speak: Speak,
  transcribe: Transcribe,
  listen: Listen,
  keys: Keys,
  credits: CreditsView,
  usage: Usage,
  limits: Limits,
  members: Members,
  account: Account,
  status: Status,
};
const ORGANIZATION = ["keys", "credits", "usage", "limits", "members"] as const;

/** What a page about the person gets that has nothing to do with an organization. */
const NO_ORGANIZATION: ViewProps["organization"] = { id: "", name: "", role: "member" };

interface FrameProps {
  readonly session: Session;
  readonly path: string;
  readonly onLanguage: (name: string) => void;
  readonly onSession: (session: Session) => void;
}

/** What stands around every page of somebody who is signed in. */
export function Frame({ session, path, onLanguage, onSession }: FrameProps) {
  const { t } = useWords();
  const [chosen, setChosen] = useState(session.organizations[0]?.id);
  const organization = session.organizations.find(({ id }) => id === chosen) ?? session.organizations[0];
  useEffect(() => {
    // On a phone the sections stand in a row that scrolls.
    const current = document.querySelector("nav a[aria-current]");
    current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
  const signOut = async () => {
    onSession(await ask<Session>("POST", "/sign-out"));
    go("sign-in");
  };
  const pages = servedPages(session);
  const item = (name: TextName & SignedInPath) => (
    <li key={name}>
      <Link to={name} isCurrent={path === name}>
        {t(name)}
      </Link>
    </li>
  );
  const view = () => {
    if (!isSignedInPath(path) && !isPage(path)) return <NotFound />;
    const known = isSignedInPath(path) ? path : "";
    // A person whom the last organization has removed still has an account.
    if (organization === undefined && known !== "account" && known !== "status") return <Homeless />;
    if (PLAYGROUND.some(({ name }) => name === known && !pages.includes(name)))
      return <ServedElsewhere title={t(known as TextName & SignedInPath)} pages={pages} />;
    const View = VIEWS[known];
    return (
      <View
        key={`${known} ${organization?.id}`}
        organization={organization ?? NO_ORGANIZATION}
        session={session}
        onSession={onSession}
      />
    );
  };
  return (
    <div class="frame">
      <a class="skip" href="#content">
        {t("skip")}
      </a>
      <aside>
        <div class="brand-row">
          <Link to="" class="brand">
            <img src={new URL("../icon.svg", import.meta.url).href} alt="" width="26" height="26" />
            Dauys
          </Link>
          {organization !== undefined && <Balance key={organization.id} organization={organization} />}
        </div>
        {session.organizations.length > 1 && (
          <select
            aria-label={t("organization")}
            value={chosen}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {session.organizations.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
        <nav aria-label={t("menu")}>
          <ul>
            <li>
              <Link to="" isCurrent={path === ""}>
                {t("overview")}
              </Link>
            </li>
          </ul>
          <h2>{t("playground")}</h2>
          <ul>{pages.map(item)}</ul>
          {organization !== undefined && (
            <>
              <h2>{organization.name}</h2>
              <ul>{ORGANIZATION.map(item)}</ul>
            </>
          )}
        </nav>
        <footer>
          <div class="links">
            <Link to="status" isCurrent={path === "status"}>
              {t("status")}
            </Link>
            <a href="/docs">{t("reference")}</a>
          </div>
          <Preferences onLanguage={onLanguage} />
          <Link to="account" class="who" isCurrent={path === "account"}>
            {session.user?.email}
          </Link>
          <button type="button" class="link" onClick={() => void signOut()}>
            {t("signOut")}
          </button>
        </footer>
      </aside>
      <main id="content" tabIndex={-1}>
        {view()}
      </main>
    </div>
  );
}

/** The page of a person who belongs nowhere at the moment. */
function Homeless() {
  const { t } = useWords();
  return (
    <>
      <PageHead title={t("noOrganization")} lead="" />
      <Empty title={t("noOrganizationTitle")} lead={t("noOrganizationLead")}>
        <Link to="account" class="button plain">
          {t("account")}
        </Link>
      </Empty>
    </>
  );
}

function Balance({ organization }: { readonly organization: Organization }) {
  const { t, number } = useWords();
  const [credits, reload] = useLoaded<Credits>(`/organizations/${organization.id}/credits`);
  useEffect(() => {
    const changed = () => void reload();
    creditsChanged.addEventListener("changed", changed);
    return () => creditsChanged.removeEventListener("changed", changed);
  }, [reload]);
  if (credits.state !== "ready") return null;
  return (
    <Link to="credits" class="balance-chip">
      <span class="hidden">{t("balance")}: </span>
      <span aria-hidden="true">◈ </span>
      {number(credits.value.available)}
    </Link>
  );
}
