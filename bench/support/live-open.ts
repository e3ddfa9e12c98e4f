import type { ToLiveWorker } from "../../native/threads/protocol.js";

type Open = Extract<ToLiveWorker, { type: "open" }>;

/** The message that opens a session at the start of its ring, with the API's defaults. */
export function liveOpen(session: number, ring: SharedArrayBuffer, changes: Partial<Open> = {}): Open {
  return {
    type: "open",
    session,
    epoch: 1,
    ring,
    from: { sample: 0, isMidSpeech: false },
    marks: 0,
    nextUtterance: 0,
    wasShown: false,
    endOfUtteranceMs: 200,
    endpointing: "fixed",
    wantsPartials: true,
    hotWords: [],
    ...changes,
  };
}
