// A single chunk for the browser: client, player and playground pages load when the first of them is opened.
export { Jobs } from "./jobs.js";
export { Listen } from "./listen.js";
export { Speak } from "./speak.js";
export { Transcribe } from "./transcribe.js";
