// What a live session may do, for how long and how often. One place: the session, its feed and the messages to clients
// read these, and docs/live-protocol.md states them.

/** The longest session, in audio: 4 hours. */
export const MAX_SESSION_SECONDS = 4 * 3_600;

/** A client that sends neither audio nor keepalive for this long is taken to be gone. */
export const IDLE_SECONDS = 60;

/** Audio that may wait to be decoded. Longer than the wait for a cold model (`MODEL_WAIT_MS`), so that none is lost in it. */
export const BACKLOG_SECONDS = 60;

/** So many messages that cannot be understood, within `BAD_MESSAGES_WITHIN_MS` of the first, end a session. */
export const MOST_BAD_MESSAGES = 10;
export const BAD_MESSAGES_WITHIN_MS = 60_000;
