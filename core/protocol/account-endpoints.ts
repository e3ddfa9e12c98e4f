import { NO_QUERY } from "./catalog-schemas.js";
import { USAGE_QUERY } from "./usage-query.js";

/** Endpoints about the key and its organization, for the complete table. */
export const ACCOUNT_ENDPOINTS = [
  {
    method: "GET",
    path: "/v1/balance",
    group: "Account",
    summary: "Credits of the key's organization",
    description: "Free of charge; at most a second old.",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "Balance" },
    errors: [400, 401, 503],
  },
  {
    method: "GET",
    path: "/v1/key",
    group: "Account",
    summary: "The key itself: its limits, and its usage this month",
    description: "Any key may request its own data. Free of charge.",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "KeyInfo" },
    errors: [400, 401, 503],
  },
  {
    method: "GET",
    path: "/v1/usage",
    group: "Account",
    summary: "Usage of the key's organization by day, kind of work and path",
    description:
      "All charges of these days, over all keys. Free of charge; at most ten seconds old. An organization " +
      "may request ten periods at once, then one a second.",
    query: USAGE_QUERY,
    status: 200,
    answer: { "application/json": "Usage" },
    errors: [400, 401, 429, 503],
  },
  {
    method: "GET",
    path: "/v1/vocabulary",
    group: "Account",
    summary: "Hot words and pronunciations that the key's organization stored",
    description: "As they were written; empty lists if nothing is stored. Free of charge.",
    query: NO_QUERY,
    status: 200,
    answer: { "application/json": "Vocabulary" },
    errors: [400, 401, 503],
  },
  {
    method: "PUT",
    path: "/v1/vocabulary",
    group: "Account",
    summary: "Replace them",
    description:
      "They apply to all later requests of all the organization's keys, in addition to a request's own words, which win: hot words " +
      "to transcriptions, pronunciations to speech. Together they are at most as many as one request may have. Both lists are " +
      "replaced; one that is left out becomes empty. Applies at once here, and within 30 s on other services. A request with " +
      "`organization_defaults=false` leaves them out.",
    query: NO_QUERY,
    request: { "application/json": "VocabularyRequest" },
    status: 200,
    answer: { "application/json": "Vocabulary" },
    errors: [400, 401, 408, 413, 503],
  },
] as const;
