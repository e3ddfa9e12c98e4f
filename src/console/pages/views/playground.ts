// One chunk for the browser: the client, the player and the three pages, loaded with the first page opened.
export { Listen } from "./listen.js";
export { Speak } from "./speak.js";
export { Transcribe } from "./transcribe.js";
