import { ServiceError } from "../../domain/errors.js";
import type { CatalogModel } from "../../ports/conversations.js";
import { type Model, type Models, VOICES_QUERY, type Voices } from "../../protocol/catalog-schemas.js";
import { errorHeaders } from "../../protocol/error-status.js";
import { shown } from "../../protocol/fields.js";
import { readQuery } from "../../protocol/query.js";
import type { Handlers, RouteDeps } from "../route.js";

type CatalogOperation =
  | "GET /v1/models"
  | "GET /v1/voices"
  | "GET /v1/audio/models"
  | "GET /v1/audio/voices"
  | "GET /health"
  | "GET /ready";

/** Open routes: what can be spoken with, and whether the service is up. */
export function catalogHandlers({
  conversations,
  running,
  isReady,
}: Pick<RouteDeps, "conversations" | "running" | "isReady">): Handlers<CatalogOperation> {
  const speaking = conversations.models.filter((model) => model.task === "synthesis");
  const hearing = conversations.models.filter((model) => model.task === "transcription");
  const models: Models = {
    object: "list",
    data: speaking.map(toModel),
    transcription: hearing.map(toRecognizer),
  };
  const health = { status: "ok", models: conversations.models.map((model) => model.name) };
  // The two shapes below are what chat front ends of the OpenAI shape ask a speech service for.
  const modelIds = { models: speaking.map(({ name }) => ({ id: name, name })) };
  const voiceIds = {
    voices: speaking.flatMap(({ voices }) => voices.map(({ name }) => ({ id: name, name }))),
  };
  return {
    "GET /v1/models": (exchange) => exchange.json(200, models),
    "GET /v1/voices": (exchange) => exchange.json(200, voicesOf(speaking, exchange.request.query)),
    "GET /v1/audio/models": (exchange) => exchange.json(200, modelIds),
    "GET /v1/audio/voices": (exchange) => exchange.json(200, voiceIds),
    "GET /health": (exchange) => exchange.json(200, health),
    "GET /ready": async (exchange) => {
      if (!running.isDraining && (await isReady())) return exchange.json(200, { status: "ready" });
      const detail = running.isDraining ? "the service is stopping" : "the service is not ready";
      return exchange.json(503, { detail }, errorHeaders("SHUTTING_DOWN"));
    },
  };
}

function toModel(model: CatalogModel): Model {
  return {
    ...toEntry(model),
    lang: model.lang,
    sample_rate: model.sample_rate,
    voices: model.voices.map((voice) => voice.name),
    default_voice: model.default_voice,
    word_times: model.word_times,
  };
}

function toRecognizer(model: CatalogModel): Models["transcription"][number] {
  return { ...toEntry(model), lang: model.lang, sample_rate: model.sample_rate };
}

function toEntry({ name, notes, created }: CatalogModel) {
  const createdS = created === null ? 0 : Date.parse(created) / 1_000;
  return { id: name, object: "model", created: createdS, owned_by: "dauys", name, notes } as const;
}

function voicesOf(models: readonly CatalogModel[], query: URLSearchParams): Voices {
  const { model: name } = readQuery(VOICES_QUERY, query);
  const model = models.find((candidate) => candidate.name === name);
  if (model === undefined) {
    const known = models.map((candidate) => candidate.name).join(", ");
    throw new ServiceError("UNKNOWN_MODEL", `model must be one of ${known}, received ${shown(name)}`);
  }
  const voices = model.voices.map(({ name, gender, style, best_for }) => ({ name, gender, style, best_for }));
  return { model: model.name, voices };
}
