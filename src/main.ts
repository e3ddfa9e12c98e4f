import { runService } from "./service/process.js";

runService({
  // Its actors are no part of any other role.
  startEngineNode: async (options) => (await import("./engine-node.js")).startEngineNode(options),
});
