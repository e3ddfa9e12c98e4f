import type { ServedPart } from "../../core/domain/served.js";
import { ROOT } from "./subjects.js";

/** Signs of life of nodes that do a kind of work. */
export function beatsOf(kind: ServedPart): string {
  return `${ROOT}.beat.${kind}`;
}

/** Where a node hears all calls of a kind; `front` is the last word. */
export function callsTo(node: string, kind: ServedPart, front = "*"): string {
  return `${ROOT}.engine.${node}.${kind}.${front}`;
}

/** Where a node hears that a front is gone; `front` is the last word. */
export function frontGone(node: string, kind: ServedPart, front = "*"): string {
  return `${ROOT}.engine.${node}.unheard.${kind}.${front}`;
}

/** Where a front hears of its calls; the call's number is the last word. */
export function answersTo(front: string, call: number | "*" = "*"): string {
  return `${ROOT}.front.${front}.call.${call}`;
}

/** Where a front hears that a node does not do a kind of work any more; `<kind>.<node>` are the last words. */
export function nodeGone(front: string, kind = "*", node = "*"): string {
  return `${ROOT}.front.${front}.unheard.${kind}.${node}`;
}

/** The last word of a subject. */
export function lastWord(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
