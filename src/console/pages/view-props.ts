import type { Organization, Session } from "./api.js";

/** What every page of a person who is signed in gets. */
export interface ViewProps {
  readonly organization: Organization;
  readonly session: Session;
  /** Something about the person or their organizations has changed. */
  readonly onSession: (session: Session) => void;
}
