/** Close codes of live sockets; those from 4400 on are 4000 plus the corresponding HTTP status. */
export const CLOSE = {
  done: 1000,
  messageTooLong: 1009,
  internal: 1011,
  goingAway: 1012,
  noCapacity: 1013,
  badRequest: 4400,
  unauthorized: 4401,
  forbidden: 4403,
  idle: 4408,
  tooLong: 4413,
  outOfCredits: 4429,
  storeAway: 4503,
} as const;

/** @public The documentation uses it. */
export type Closing = keyof typeof CLOSE;

/** Meaning of each code for clients; the documentation is generated from it. @public */
export const CLOSE_MEANING = {
  done: "done: everything was answered and charged",
  messageTooLong: "a message is longer than the service accepts",
  internal: "internal error; the same audio may succeed in another session",
  goingAway: "the service is stopping or restarting; connect again",
  noCapacity: "no capacity, or the model did not load in time; try again",
  badRequest: "bad request: a parameter breaks its rule, over 60 s of backlog, or too many messages",
  unauthorized: "the key or token is missing, invalid, expired or revoked",
  forbidden: "the key does not allow this endpoint",
  idle: "neither audio nor a keepalive for 60 s; on /v1/speak and /v1/tts/live no message for 10 minutes",
  tooLong: "a session holds at most 4 hours of audio",
  outOfCredits: "out of credits, or too many sessions at once",
  storeAway: "the key store is unavailable; try again",
} as const satisfies Record<Closing, string>;

/** Closes a flooding socket without a closing message from its owner; live sockets set one. */
export const FLOOD_CODE = 1008;
