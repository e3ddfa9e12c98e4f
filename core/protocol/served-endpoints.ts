import { SERVED_PARTS, type ServedPart } from "../domain/served.js";
import { ENDPOINTS, type Endpoint } from "./endpoints.js";

/**
 * Parts of paths that differ from their group's: every service issues tokens, and voices belong to synthesis.
 */
const PARTS: Readonly<Record<string, ServedPart | null>> = {
  "/v1/stream/token": null,
  "/v1/voices": "synthesis",
  "/v1/audio/models": "synthesis",
  "/v1/audio/voices": "synthesis",
};
const BY_GROUP: Readonly<Record<Endpoint["group"], ServedPart | null>> = {
  Speech: "synthesis",
  Transcription: "transcription",
  Live: "live",
  Account: null,
  Catalog: null,
};

/** Returns the part of the interface that a path belongs to; null for paths of every service. */
function partOf(path: string): ServedPart | null {
  const own = PARTS[path];
  if (own !== undefined) return own;
  const endpoint = ENDPOINTS.find((one) => one.path === path);
  return endpoint === undefined ? null : BY_GROUP[endpoint.group];
}

/** Endpoints of a service that serves only some parts. */
export function servedEndpoints(serve: readonly ServedPart[]): readonly Endpoint[] {
  return ENDPOINTS.filter(({ path }) => isServed(path, serve));
}

export function isServed(path: string, serve: readonly ServedPart[]): boolean {
  const part = partOf(path);
  return part === null || serve.includes(part);
}

/** Error detail for a path that only another service has. */
export function servedElsewhere(path: string, serve: readonly ServedPart[]): string {
  const here = SERVED_PARTS.filter((part) => serve.includes(part)).join(" and ");
  return `${path} is not served here: this service serves ${here}, another one ${partOf(path) ?? "the rest"}`;
}
