// A single chunk for the browser: the client, the player and the pages that call the public API load when the
// first of these pages is opened.
export { Jobs } from "./jobs.js";
export { Listen } from "./listen.js";
export { Speak } from "./speak.js";
export { Transcribe } from "./transcribe.js";
export { Vocabulary } from "./vocabulary.js";
