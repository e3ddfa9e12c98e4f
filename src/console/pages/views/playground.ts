// One file for a browser: client, player and what the three pages share come with the first of them that is opened.
export { Listen } from "./listen.js";
export { Speak } from "./speak.js";
export { Transcribe } from "./transcribe.js";
