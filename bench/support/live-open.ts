import type { ToLiveWorker } from "../../native/threads/protocol.js";

type Open = Extract<ToLiveWorker, { type: "open" }>;

/** What a live worker is told of a session that begins with its ring, by the interface's defaults. */
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
