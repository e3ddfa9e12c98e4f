import type { LiveSessionObserver } from "../../actors/live/session.js";
import type { Metrics } from "../../core/observe/metrics.js";
import { inSpan, type Span } from "../../core/ports/span.js";
import type { UsageMeter } from "../../core/ports/usage-meter.js";

type SpeechObserver = ReturnType<Metrics["observeSpeech"]>;

/** Wraps a meter so that its holds become spans of a request's trace. */
export function traceHolds(span: Span, meter: UsageMeter): UsageMeter {
  return {
    requireCredit: (...args) => meter.requireCredit(...args),
    hold: (...args) => inSpan(span.child("hold"), () => meter.hold(...args)),
    openSpeech: (reference) => {
      const speech = meter.openSpeech(reference);
      return {
        cover: (characters) => inSpan(span.child("hold"), () => speech.cover(characters)),
        delivered: (characters) => speech.delivered(characters),
        settle: (characters) => speech.settle(characters),
      };
    },
    openLive: (reference, samplesPerSecond, onFunds) => {
      const hold = span.child("hold");
      return meter.openLive(reference, samplesPerSecond, (funds) => {
        // The first call reports the hold; later ones report that it has grown.
        hold.end();
        onFunds(funds);
      });
    },
  };
}

export function traceSpeech(span: Span, observer: SpeechObserver): SpeechObserver {
  return {
    ...observer,
    firstAudio: (afterMs, billedCharacters) => {
      span.event("first audio");
      observer.firstAudio(afterMs, billedCharacters);
    },
  };
}

/** Adds spans for the wait for a worker, and for each utterance from its first partial to its final. */
export function traceLive(span: Span, observer: LiveSessionObserver): LiveSessionObserver {
  const wait = span.child("queue wait");
  let hasHeard = false;
  let utterance: Span | null = null;
  const utteranceSpan = (number: number) => {
    utterance ??= span.child("utterance", { utterance: number });
    return utterance;
  };
  return {
    opened: () => observer.opened(),
    received: (sampleCount) => {
      if (!hasHeard) span.event("first audio");
      hasHeard = true;
      observer.received(sampleCount);
    },
    sent: (message) => {
      if (message.type === "ready") wait.end();
      else if (message.type === "partial") utteranceSpan(message.utterance);
      else if (message.type === "final") {
        utteranceSpan(message.utterance).set({ start_s: message.start, end_s: message.end });
        utteranceSpan(message.utterance).end();
        utterance = null;
      } else if (message.type === "error") span.event("error", { code: message.code });
      observer.sent(message);
    },
    disconnected: () => {
      wait.end();
      utterance?.end();
      observer.disconnected();
    },
  };
}
