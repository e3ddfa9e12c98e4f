import { currentSession, type Session } from "./api.js";
import { currentPath, navigate } from "./router.js";

/** Opens the pages of a user who has just signed in. */
export function enter(session: Session): void {
  currentSession.set(session);
  if (["", "sign-in", "sign-up", "join"].includes(currentPath())) navigate("");
}
