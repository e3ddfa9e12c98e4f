import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isPage, isSignedInPath, type SignedInPath } from "../../paths.js";
import {
  type Credits,
  callApi,
  creditsChanged,
  currentSession,
  type Organization,
  type Session,
  type ViewProps,
} from "../api.js";
import { useLoaded } from "../hooks.js";
import { Link, navigate } from "../router.js";
import { PLAYGROUND, servedPages } from "../served.js";
import type { TextName } from "../text/en.js";
import { number, t } from "../text/language.js";
import { Account } from "../views/account.js";
import { CreditsView } from "../views/credits.js";
import { Keys } from "../views/keys.js";
import { Limits } from "../views/limits.js";
import { Members } from "../views/members.js";
import { NotFound, ServedElsewhere } from "../views/not-found.js";
import { Overview } from "../views/overview.js";
import { Status } from "../views/status.js";
import { Usage } from "../views/usage.js";
import { Select } from "./form.js";
import { ButtonLink, Empty, PageHead } from "./parts.js";
import { Jobs, Listen, Speak, Transcribe, Vocabulary } from "./playground.js";
import { Preferences } from "./preferences.js";

const VIEWS: Readonly<Record<SignedInPath, (props: ViewProps) => ComponentChildren>> = {
  "": Overview,
  speak: Speak,
  transcribe: Transcribe,
  jobs: Jobs,
  listen: Listen,
  keys: Keys,
  vocabulary: Vocabulary,
  credits: CreditsView,
  usage: Usage,
  limits: Limits,
  members: Members,
  account: Account,
  status: Status,
};
const ORGANIZATION_PAGES = ["keys", "vocabulary", "credits", "usage", "limits", "members"] as const;

/** Stands in for the organization on pages that need none. */
const NO_ORGANIZATION: ViewProps["organization"] = { id: "", name: "", role: "member" };

interface FrameProps {
  readonly session: Session;
  readonly path: string;
}

/** The layout of signed-in pages: a sidebar, and the page at `path`. */
export function Frame({ session, path }: FrameProps) {
  const [chosen, setChosen] = useState(session.organizations[0]?.id);
  const organization = session.organizations.find(({ id }) => id === chosen) ?? session.organizations[0];
  useEffect(() => {
    // On a phone the menu is a row that scrolls.
    const current = document.querySelector("nav a[aria-current]");
    current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
  const signOut = async () => {
    currentSession.set(await callApi<Session>("POST", "/sign-out"));
    navigate("sign-in");
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
          <Select
            label={t("organization")}
            value={chosen}
            options={session.organizations.map(({ id, name }) => ({ value: id, text: name }))}
            onChoose={setChosen}
          />
        )}
        <Menu {...{ session, path, organization }} />
        <footer>
          <div class="links">
            <Link to="status" isCurrent={path === "status"}>
              {t("status")}
            </Link>
            <a href="/docs">{t("reference")}</a>
          </div>
          <Preferences />
          <Link to="account" class="who" isCurrent={path === "account"}>
            {session.user?.email}
          </Link>
          <button type="button" class="link" onClick={() => void signOut()}>
            {t("signOut")}
          </button>
        </footer>
      </aside>
      <main id="content" tabIndex={-1}>
        <View {...{ session, path, organization }} />
      </main>
    </div>
  );
}

interface MenuProps extends Pick<FrameProps, "session" | "path"> {
  readonly organization: Organization | undefined;
}

function Menu({ session, path, organization }: MenuProps) {
  const item = (page: SignedInPath, text: TextName) => (
    <li key={page}>
      <Link to={page} isCurrent={path === page}>
        {t(text)}
      </Link>
    </li>
  );
  return (
    <nav aria-label={t("menu")}>
      <ul>{item("", "overview")}</ul>
      <h2>{t("playground")}</h2>
      <ul>{servedPages(session).map((page) => item(page, page))}</ul>
      {organization !== undefined && (
        <>
          <h2>{organization.name}</h2>
          <ul>{ORGANIZATION_PAGES.map((page) => item(page, page))}</ul>
        </>
      )}
    </nav>
  );
}

function View({ session, path, organization }: MenuProps) {
  if (!isPage(path)) return <NotFound />;
  const page = isSignedInPath(path) ? path : "";
  // A user whom the last organization has removed still has an account.
  if (organization === undefined && page !== "account" && page !== "status") return <NoOrganization />;
  const pages = servedPages(session);
  const elsewhere = PLAYGROUND.find(({ name }) => name === page && !pages.includes(name));
  if (elsewhere !== undefined) return <ServedElsewhere title={t(elsewhere.name)} pages={pages} />;
  const Page = VIEWS[page];
  return (
    <Page
      key={`${page} ${organization?.id}`}
      organization={organization ?? NO_ORGANIZATION}
      session={session}
    />
  );
}

/** The page for users who belong to no organization. */
function NoOrganization() {
  return (
    <>
      <PageHead title={t("noOrganization")} />
      <Empty title={t("noOrganizationTitle")} lead={t("noOrganizationLead")}>
        <ButtonLink to="account" look="plain" text={t("account")} />
      </Empty>
    </>
  );
}

function Balance({ organization }: { readonly organization: Organization }) {
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
