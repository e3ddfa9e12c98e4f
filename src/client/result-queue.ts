import { ItemQueue } from "./item-queue.js";
import type { LiveResult } from "./live-types.js";

/**
 * Queues results for the caller. A slow reader gets every final, but only the latest partial of each
 * utterance, so the queue holds at most one result per utterance.
 */
export class ResultQueue extends ItemQueue<LiveResult> {
  protected override isReplaced(last: LiveResult, next: LiveResult): boolean {
    return last.type === "partial" && last.utterance === next.utterance;
  }
}
