import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask, type Credits, creditsChanged, type Organization, type Session } from "../api.js";
import { useLoaded } from "../hooks.js";
import { go, Link } from "../router.js";
import type { TextName } from "../text/en.js";
import { useWords } from "../text/language.js";
import type { ViewProps } from "../view-props.js";
import { Account } from "../views/account.js";
import { CreditsView } from "../views/credits.js";
import { Keys } from "../views/keys.js";
import { Listen } from "../views/listen.js";
import { Members } from "../views/members.js";
import { Overview } from "../views/overview.js";
import { Speak } from "../views/speak.js";
import { Transcribe } from "../views/transcribe.js";
import { Usage } from "../views/usage.js";
import { Preferences } from "./preferences.js";

const VIEWS: Readonly<Record<string, (props: ViewProps) => ComponentChildren>> = {
  "": Overview,
  speak: Speak,
  transcribe: Transcribe,
  listen: Listen,
  keys: Keys,
  credits: CreditsView,
  usage: Usage,
  members: Members,
  account: Account,
};
const PLAYGROUND: readonly TextName[] = ["speak", "transcribe", "listen"];
const ACCOUNT: readonly TextName[] = ["keys", "credits", "usage", "members"];

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
  const View = VIEWS[path] ?? Overview;
  useEffect(() => {
    // On a phone the sections stand in a row that scrolls.
    const current = document.querySelector(`nav a[href$="/${path}"]`);
    current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
  const signOut = async () => {
    onSession(await ask<Session>("POST", "/sign-out"));
    go("sign-in");
  };
  const item = (name: TextName) => (
    <li key={name}>
      <Link to={name} isCurrent={path === name}>
        {t(name)}
      </Link>
    </li>
  );
  return (
    <div class="frame">
      <a class="skip" href="#content">
        {t("skip")}
      </a>
      <aside>
        <div class="brand-row">
          <Link to="" class="brand" isCurrent={path === ""}>
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
          <h2>{t("playground")}</h2>
          <ul>{PLAYGROUND.map(item)}</ul>
          <h2>{organization?.name ?? t("account")}</h2>
          <ul>{ACCOUNT.map(item)}</ul>
        </nav>
        <footer>
          <a href="/docs">{t("reference")}</a>
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
        {organization !== undefined && (
          <View key={`${path} ${organization.id}`} {...{ organization, session }} />
        )}
      </main>
    </div>
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
