import { SERVED_PARTS } from "../../../core/domain/served.js";
import type { Session } from "./api.js";

/** Playground pages, and the part of the API that each of them calls. */
export const PLAYGROUND = [
  { name: "speak", part: "synthesis" },
  { name: "transcribe", part: "transcription" },
  { name: "jobs", part: "transcription" },
  { name: "listen", part: "live" },
] as const;
export type PlaygroundPage = (typeof PLAYGROUND)[number]["name"];

/** Playground pages whose part of the API is served at this address. */
export function servedPages({ serve = SERVED_PARTS }: Session): readonly PlaygroundPage[] {
  return PLAYGROUND.filter(({ part }) => serve.includes(part)).map(({ name }) => name);
}
