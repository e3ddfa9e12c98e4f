import { runService } from "./service/process.js";

runService({
  // Imported only for this role.
  startEngineNode: async (options) => (await import("./engine-node.js")).startEngineNode(options),
});
