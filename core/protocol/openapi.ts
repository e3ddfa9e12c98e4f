import { COMPONENTS } from "./components.js";
import { ANSWER_HEADERS, type Content, ENDPOINTS, type Endpoint, GROUPS, IDEMPOTENCY } from "./endpoints.js";
import { componentSchemas, jsonSchema } from "./json-schema.js";
import { SERVICE_VERSION } from "./service-version.js";

/** Version of the interface; the service has a separate one. */
export const INTERFACE_VERSION = "1.0.0";
const BYTES = { type: "string", format: "binary" };
const FILE = { ...BYTES, description: "The audio" };

/** Meaning of each status; the message is free text, the name in `X-Svc-Error` is stable. */
const ERRORS: Readonly<Record<number, string>> = {
  400:
    "A required field is missing, a value breaks its rule, or the body is malformed; for transcription " +
    "also: no audio. `unknown_parameter`: unknown name; the message suggests the nearest known one",
  401: "Missing or invalid API key",
  403: "`endpoint_not_allowed`: the key is restricted to other endpoints",
  404: "Unknown model, voice or job",
  408: "`body_too_slow`: the body arrived too slowly; the connection is closed",
  409:
    "A request with this `Idempotency-Key` is still running; try again after `Retry-After`. For " +
    "the result of a job: the job has none",
  413: "The body exceeds its limit, or the audio is longer than two hours",
  422: "This `Idempotency-Key` belongs to another request",
  429:
    "`out_of_credits` or `key_budget_exceeded`, where a retry cannot help, or `too_many_requests`, " +
    "with `Retry-After`",
  503:
    "Overloaded, the key store is unavailable, the model did not load in time, or the disk has no space " +
    "for the audio (`storage_full`); try again after `Retry-After`",
};

const SUCCESS = { 101: "The socket is open", 200: "OK", 202: "Accepted" } as const;

type Json = Readonly<Record<string, unknown>>;

/** Generates the OpenAPI 3.1 description of the public interface from the schemas that validate it. */
export function openApiDocument(endpoints: readonly Endpoint[] = ENDPOINTS): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Dauys",
      version: INTERFACE_VERSION,
      "x-service-version": SERVICE_VERSION,
      description:
        "Kazakh speech synthesis, and Kazakh and Russian transcription of files and live speech. Every " +
        "error body is `{detail}`. Errors of `/v1/audio/...`, `/v1/models` and `/v1/voices` also have " +
        "`error` (`OpenAiError`) for clients that send the header `X-Stainless-Lang`, as OpenAI's do. " +
        "Every response has `x-request-id`, every error `X-Svc-Error`. Unknown parameters and fields are " +
        `rejected. This is version ${INTERFACE_VERSION} of the interface, whose paths begin with ` +
        `\`/v1\`; it ` +
        `is served by version ${SERVICE_VERSION} of the package \`dauys\`, which is versioned separately ` +
        "(`x-service-version`).",
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    tags: GROUPS.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        key: { type: "http", scheme: "bearer", description: "`sk-svc-` and 48 hex digits" },
      },
      schemas: componentSchemas(COMPONENTS),
      responses: Object.fromEntries(
        Object.entries(ERRORS).map(([status, text]) => [`Error${status}`, errorResponse(text)]),
      ),
    },
  };
}

function operation(endpoint: Endpoint): Json {
  const { group, summary, description, request, answerHeaders = [], status, answer } = endpoint;
  const headers = {
    ...Object.fromEntries(answerHeaders.map((name) => [name, headerOf(ANSWER_HEADERS[name])])),
    ...(endpoint.isBilled === true && idempotencyHeaders()),
  };
  const success = {
    description: SUCCESS[status],
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(Object.keys(answer).length > 0 && { content: contents(answer) }),
  };
  const statuses = [
    ...endpoint.errors,
    ...(endpoint.isBilled === true ? IDEMPOTENCY.errors : []),
    ...(endpoint.isOpen === true ? [] : [403]),
  ];
  const errors = statuses.map((code) => [code, { $ref: `#/components/responses/Error${code}` }]);
  return {
    tags: [group],
    summary,
    ...(description !== undefined && { description }),
    operationId: operationId(endpoint),
    ...(endpoint.isOpen === true && { security: [] }),
    parameters: parameters(endpoint),
    ...(request !== undefined && { requestBody: requestBody(request) }),
    responses: { [status]: success, ...Object.fromEntries(errors) },
  };
}

function headerOf({ description, ...schema }: { readonly description: string }): Json {
  return { description, schema };
}

function idempotencyHeaders(): Json {
  const headers = Object.entries(IDEMPOTENCY.answerHeaders);
  return Object.fromEntries(headers.map(([name, header]) => [name, headerOf(header)]));
}

function operationId({ method, path }: Endpoint): string {
  const words = path
    .replace(/^\/(v1\/)?/, "")
    .replace(/[{}]/g, "")
    .split("/");
  return [method.toLowerCase(), ...words].join("-");
}

function parameters({ path, query, requestHeaders = {}, isBilled = false }: Endpoint): readonly Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: "path", required: true, schema: { type: "string" } };
  });
  const schemas = query === undefined ? {} : (jsonSchema(query.schema)["properties"] as Record<string, Json>);
  const inQuery = Object.entries(schemas).map(([name, { description, ...schema }]) => {
    return { name, in: "query", required: false, ...(description !== undefined && { description }), schema };
  });
  const inHeader = Object.entries(requestHeaders).map(([name, description]) => {
    return { name, in: "header", required: false, description, schema: { type: "string" } };
  });
  const { header: name, description, rule } = IDEMPOTENCY;
  const key = { name, in: "header", required: false, description, schema: { type: "string", ...rule } };
  return [...inPath, ...inQuery, ...inHeader, ...(isBilled ? [key] : [])];
}

function requestBody(request: Content | "form"): Json {
  if (request !== "form") {
    // Audio may also come from a URL, so only a JSON body is always required.
    return { required: "application/json" in request, content: contents(request) };
  }
  const fields = { $ref: "#/components/schemas/TranscriptionFields" };
  const file = { type: "object", properties: { file: FILE }, required: ["file"] };
  return { required: true, content: { "multipart/form-data": { schema: { allOf: [file, fields] } } } };
}

function contents(content: Content): Json {
  return Object.fromEntries(
    Object.entries(content).map(([mediaType, what]) => [
      mediaType,
      { schema: contentSchema(mediaType, what) },
    ]),
  );
}

function contentSchema(mediaType: string, what: Content[string]): Json {
  if (what === "text") return { type: "string" };
  if (Array.isArray(what)) return { anyOf: what.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  if (what !== "bytes") return { $ref: `#/components/schemas/${what}` };
  return mediaType === "multipart/form-data"
    ? { type: "object", properties: { file: FILE }, required: ["file"], additionalProperties: false }
    : BYTES;
}

function errorResponse(description: string): Json {
  const headers = {
    "X-Svc-Error": { description: "Stable name of the failure", schema: { type: "string" } },
    "Retry-After": { description: "Seconds; only where a retry can help", schema: { type: "integer" } },
  };
  return { description, headers, content: contents({ "application/json": "Error" }) };
}
