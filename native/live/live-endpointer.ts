import { Endpointer, pauseFramesFor, wordlessFramesFor } from "../../core/domain/endpointing/endpointer.js";
import { MOST_PATIENCE, type Patience } from "../../core/domain/endpointing/patience.js";
import { DISTANT_DOUBT } from "../../core/domain/endpointing/speaker-level.js";
import type { ToLiveWorker } from "../threads/protocol.js";
import type { TrackModel } from "./track-model.js";

/** Silence of 80 ms after which a full-context model's final pass starts, because it takes a long time. */
const EARLY_FRAMES = 2;

/** Makes the endpointer of a session. @param patience of adaptive endpointing; null without it */
export function endpointerOf(
  { endOfUtteranceMs, from }: Extract<ToLiveWorker, { type: "open" }>,
  { streams, rereads }: Pick<TrackModel, "streams" | "rereads">,
  patience: Patience | null,
): Endpointer {
  const pauseFrames = pauseFramesFor(endOfUtteranceMs);
  const longestPause = pauseFrames * (patience === null ? 1 : MOST_PATIENCE);
  return new Endpointer(
    {
      pauseFrames,
      doubtLimit: DISTANT_DOUBT,
      ...(streams && { wordlessFrames: wordlessFramesFor(longestPause) }),
      ...(rereads && { halfwayFrames: EARLY_FRAMES }),
    },
    from.isMidSpeech,
    patience,
    from.speaker ?? null,
  );
}
