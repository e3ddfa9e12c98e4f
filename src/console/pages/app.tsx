import { useCallback, useEffect, useState } from "preact/hooks";
import { isPage } from "../paths.js";
import { callApi, type Problem, type Session, sessionEnded, toProblem } from "./api.js";
import { clearResults } from "./history.js";
import { navigate, usePath } from "./router.js";
import { useLanguage } from "./text/language.js";
import { Frame } from "./ui/frame.js";
import { ErrorNotice } from "./ui/parts.js";
import { LoadingPage } from "./ui/signed-out-page.js";
import { Join } from "./views/join.js";
import { SignedOutNotFound } from "./views/not-found.js";
import { Reset } from "./views/reset.js";
import { SignIn } from "./views/sign-in.js";

/** The root: shows a page by the address and by who is signed in. */
export function App() {
  const language = useLanguage();
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const path = usePath();
  const load = useCallback(async () => {
    setProblem(null);
    try {
      setSession(await callApi<Session>("GET", "/session"));
    } catch (thrown) {
      setProblem(toProblem(thrown));
    }
  }, []);
  useEffect(() => {
    void load();
    const leave = () => setSession({ user: null, organizations: [] });
    sessionEnded.addEventListener("ended", leave);
    return () => sessionEnded.removeEventListener("ended", leave);
  }, [load]);
  useEffect(() => {
    // The next user to sign in must not see this one's results.
    if (session?.user === null) clearResults();
  }, [session]);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const enter = (entered: Session) => {
    setSession(entered);
    if (path === "" || path === "sign-in" || path === "sign-up" || path === "join") navigate("");
  };
  if (problem !== null) {
    return (
      <main class="gate">
        <ErrorNotice problem={problem} retry={() => void load()} />
      </main>
    );
  }
  if (session === null) return <LoadingPage />;
  if (path === "join") return <Join session={session} onSession={enter} />;
  if (path === "reset") return <Reset onSession={enter} />;
  if (session.user !== null) return <Frame session={session} path={path} onSession={setSession} />;
  if (!isPage(path)) return <SignedOutNotFound />;
  return <SignIn isNew={path === "sign-up"} onSession={enter} />;
}
