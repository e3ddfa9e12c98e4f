import { SERVED_PARTS, type ServedPart } from "../domain/served.js";
import { ENDPOINTS, type Endpoint } from "./endpoints.js";

/**
 * Parts of paths that differ from their group's: every service issues tokens, and voices belong to synthesis.
 */
const PARTS: Readonly<Record<string, ServedPart | null>> = {
  "/v1/stream/token": null,
  "/v1/realtime/client_secrets": null,
  "/v1/realtime/transcription_sessions": null,
  "/v1/voices": "synthesis",
  "/v1/audio/models": "synthesis",
  "/v1/audio/voices": "synthesis",
};
const BY_GROUP: Readonly<Record<Endpoint["group"], ServedPart | null>> = {
  Speech: "synthesis",
  Transcription: "transcription",
  Jobs: "transcription",
  Live: "live",
  Account: null,
  Catalog: null,
};

type Operation = Readonly<Record<"method" | "path", string>>;

/**
 * Returns the part of the interface that an operation belongs to; null for operations that every service has.
 */
function partOf({ method, path }: Operation): ServedPart | null {
  const own = PARTS[path];
  if (own !== undefined) return own;
  const endpoint = ENDPOINTS.find((one) => one.path === path && one.method === method);
  return endpoint === undefined ? null : BY_GROUP[endpoint.group];
}

/** Endpoints of a service that serves only some parts. */
export function servedEndpoints(serve: readonly ServedPart[]): readonly Endpoint[] {
  return ENDPOINTS.filter((endpoint) => isServed(endpoint, serve));
}

export function isServed(operation: Operation, serve: readonly ServedPart[]): boolean {
  const part = partOf(operation);
  return part === null || serve.includes(part);
}

/** Error detail for an operation that this service does not offer but another does. */
export function servedElsewhere(operation: Operation, serve: readonly ServedPart[]): string {
  const here = SERVED_PARTS.filter((part) => serve.includes(part)).join(" and ");
  const there = partOf(operation) ?? "the rest";
  return `${operation.path} is not served here: this service serves ${here}, another one ${there}`;
}
