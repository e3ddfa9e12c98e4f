import type { Clock } from "../../core/ports/clock.js";
import type { Synthesizer } from "../../core/ports/synthesizer.js";
import { MAX_PART_BYTES } from "../fleet/call-messages.js";
import { type SpeakCall, type SpeakDone, type SpeakPart, urgencyOf } from "../fleet/speak-call.js";
import type { HostedCall } from "./call-host.js";

const MAX_PART_SAMPLES = MAX_PART_BYTES / Int16Array.BYTES_PER_ELEMENT;

/** Synthesizes pieces for all fronts; the synthesizer orders them by due time. */
export function speakingWith(
  synthesizer: Synthesizer,
  clock: Clock,
): (call: HostedCall) => Promise<SpeakDone> {
  return async ({ body, signal, span, send }) => {
    const call = body as SpeakCall;
    let toSkip = call.skipSamples;
    const nowMs = clock.nowMs();
    const { characterBounds, sampleRateHz } = await synthesizer.speak(call.job, signal, {
      urgency: urgencyOf(call, nowMs),
      askedAtMs: nowMs - call.askedAgoMs,
      span,
      onBounds: (bounds) => send({ bounds } satisfies SpeakPart),
      onPcm: (made) => {
        const skipped = Math.min(toSkip, made.length);
        toSkip -= skipped;
        for (let at = skipped; at < made.length; at += MAX_PART_SAMPLES)
          send({ pcm: made.subarray(at, at + MAX_PART_SAMPLES) } satisfies SpeakPart);
      },
    });
    return { sampleRateHz, bounds: characterBounds };
  };
}
