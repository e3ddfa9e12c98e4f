import type { LiveEvent } from "../../../core/ports/live-decoder.js";
import { joined, RATE_HZ, silence, speech } from "../../support/audio.js";
import type { Final, LiveListener } from "../../support/live-listener.js";

export const KAZAKH = speech("kazakh-speech-commands/example_1.flac");
export const RUSSIAN = speech("asterisk-ru-core/conf-getconfno.flac");
/** Several utterances by two voices, with pauses between them. */
export const DIALOGUE = joined(silence(0.3), KAZAKH, silence(0.8), RUSSIAN, silence(0.5));

export const STATES: readonly (readonly [
  string,
  (listener: LiveListener) => Promise<unknown> | undefined,
])[] = [
  ["before it is ready", () => undefined],
  ["before any audio", (listener) => listener.seen(isReady)],
  [
    "in the middle of an utterance",
    async (listener) => {
      await listener.writeAll([KAZAKH.subarray(0, 2 * RATE_HZ)]);
      await listener.seen((event) => event.type === "partial");
    },
  ],
  ["with a backlog", (listener) => listener.writeAll([DIALOGUE, DIALOGUE, DIALOGUE])],
  [
    "while it finishes",
    async (listener) => {
      await listener.writeAll([DIALOGUE]);
      listener.feed.finalize();
      listener.feed.finish();
    },
  ],
];

export function textOf(finals: readonly Final[]): string {
  return finals.map((final) => final.text).join(" ");
}

export function isReady(event: LiveEvent): boolean {
  return event.type === "ready";
}
