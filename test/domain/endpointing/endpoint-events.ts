import type { EndpointEvent } from "../../../core/domain/endpointing/endpointer.js";

/** Writes an event as its name, utterance, frames and reason. */
export function say(event: EndpointEvent): string {
  const end = "endFrame" in event ? `-${event.endFrame}` : "";
  const reason = event.type === "ended" ? ` ${event.reason}` : "";
  return `${event.type} #${event.utterance} ${event.startFrame}${end}${reason}`;
}
