import { useCallback, useEffect, useState } from "preact/hooks";
import { isPage } from "../paths.js";
import { ask, asProblem, type Problem, type Session, sessionEnded } from "./api.js";
import { forgetResults } from "./history.js";
import { go, usePath } from "./router.js";
import { initialLanguage, isLanguage, keepLanguage, LanguageContext } from "./text/language.js";
import { Frame } from "./ui/frame.js";
import { Waiting } from "./ui/gate.js";
import { Trouble } from "./ui/parts.js";
import { Join } from "./views/join.js";
import { LostAtTheGate } from "./views/not-found.js";
import { Reset } from "./views/reset.js";
import { SignIn } from "./views/sign-in.js";

/** Everything: who is signed in decides what is shown. */
export function App() {
  const [language, setLanguage] = useState(initialLanguage);
  const [session, setSession] = useState<Session | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const path = usePath();
  const load = useCallback(async () => {
    setProblem(null);
    try {
      setSession(await ask<Session>("GET", "/session"));
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  }, []);
  useEffect(() => {
    void load();
    const leave = () => setSession({ user: null, organizations: [] });
    sessionEnded.addEventListener("ended", leave);
    return () => sessionEnded.removeEventListener("ended", leave);
  }, [load]);
  useEffect(() => {
    // The next person to sign in must not see what was said before.
    if (session?.user === null) forgetResults();
  }, [session]);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const choose = (name: string) => {
    if (!isLanguage(name)) return;
    keepLanguage(name);
    setLanguage(name);
  };
  const enter = (entered: Session) => {
    setSession(entered);
    if (path === "" || path === "sign-in" || path === "sign-up" || path === "join") go("");
  };
  return <LanguageContext.Provider value={language}>{shown()}</LanguageContext.Provider>;

  function shown() {
    if (problem !== null) {
      return (
        <main class="gate">
          <Trouble problem={problem} retry={() => void load()} />
        </main>
      );
    }
    if (session === null) return <Waiting />;
    if (path === "join") return <Join session={session} onSession={enter} onLanguage={choose} />;
    if (path === "reset") return <Reset onSession={enter} onLanguage={choose} />;
    if (session.user === null && !isPage(path)) return <LostAtTheGate onLanguage={choose} />;
    if (session.user === null) {
      return <SignIn isNew={path === "sign-up"} onSession={enter} onLanguage={choose} />;
    }
    return <Frame session={session} path={path} onLanguage={choose} onSession={setSession} />;
  }
}
