import { after, before, describe } from "node:test";
import { endingCases } from "./ending-cases.js";
import { requestCases } from "./request-cases.js";
import { socketCases } from "./socket-cases.js";
import { type MakeFront, TestedFront } from "./tested-front.js";

/**
 * Tests what every front must do. Runs once per adapter. With `inThreads`, closing takes effect a moment
 * later.
 */
export function frontContract(name: string, makeFront: MakeFront, { inThreads = false } = {}): void {
  describe(`front ${name}`, { concurrency: 1 }, () => {
    const front = new TestedFront(name, makeFront, inThreads);
    before(() => front.start());
    after(() => front.stop());
    requestCases(front);
    endingCases(front);
    socketCases(front);
  });
}
