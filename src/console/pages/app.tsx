import { useCallback, useEffect, useState } from "preact/hooks";
import { isPage } from "../paths.js";
import { callApi, currentSession, type Problem, type Session, toProblem } from "./api.js";
import { clearResults } from "./history.js";
import { usePath } from "./router.js";
import { language } from "./text/language.js";
import { Frame } from "./ui/frame.js";
import { ErrorNotice } from "./ui/parts.js";
import { LoadingPage } from "./ui/signed-out-page.js";
import { Join } from "./views/join.js";
import { SignedOutNotFound } from "./views/not-found.js";
import { Reset } from "./views/reset.js";
import { SignIn } from "./views/sign-in.js";
import { vocabularyDrafts } from "./vocabulary-drafts.js";

/** The root component. The address and the signed-in user decide which page it shows. */
export function App() {
  const shownLanguage = language.use();
  const session = currentSession.use();
  const [problem, setProblem] = useState<Problem | null>(null);
  const path = usePath();
  const load = useCallback(async () => {
    setProblem(null);
    try {
      currentSession.set(await callApi<Session>("GET", "/session"));
    } catch (thrown) {
      setProblem(toProblem(thrown));
    }
  }, []);
  useEffect(() => void load(), [load]);
  useEffect(() => {
    if (session?.user !== null) return;
    // The next user to sign in must not see what this one made.
    clearResults();
    vocabularyDrafts.clear();
  }, [session]);
  useEffect(() => {
    document.documentElement.lang = shownLanguage;
  }, [shownLanguage]);
  if (problem !== null) {
    return (
      <main class="gate">
        <ErrorNotice problem={problem} retry={() => void load()} />
      </main>
    );
  }
  if (session === null) return <LoadingPage />;
  if (path === "join") return <Join session={session} />;
  if (path === "reset") return <Reset />;
  if (session.user !== null) return <Frame session={session} path={path} />;
  if (!isPage(path)) return <SignedOutNotFound />;
  return <SignIn isNew={path === "sign-up"} />;
}
