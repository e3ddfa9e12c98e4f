// Prints which front `FRONT=auto` takes under the Node that this runs on.
import { frontFacts } from "../../dist/src/front/select-front.js";
import { findUws } from "../../dist/src/front/uws/load-binding.js";

console.log(JSON.stringify(frontFacts("auto", { kind: findUws().binding === null ? "node" : "uws" })));
