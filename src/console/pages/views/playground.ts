// One chunk for the browser: the client, the player and the pages, loaded with the first page opened.
export { Jobs } from "./jobs.js";
export { Listen } from "./listen.js";
export { Speak } from "./speak.js";
export { Transcribe } from "./transcribe.js";
