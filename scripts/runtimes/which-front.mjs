// Prints the front that `FRONT=auto` selects under the running Node.
import { frontFacts } from "../../dist/src/front/select-front.js";
import { findUws } from "../../dist/src/front/uws/load-binding.js";

console.log(JSON.stringify(frontFacts("auto", { kind: findUws().binding === null ? "node" : "uws" })));
