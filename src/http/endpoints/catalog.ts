import {
  type Catalog,
  type CatalogModel,
  everyModel,
  type HearingModel,
  type SpeakingModel,
  servesSpeakers,
} from "../../../core/domain/catalog/catalog.js";
import { SERVED_PARTS, servesTask } from "../../../core/domain/served.js";
import {
  type Model,
  type Models,
  VOICES_QUERY,
  type Voices,
} from "../../../core/protocol/catalog-schemas.js";
import { errorHeaders } from "../../../core/protocol/error-status.js";
import { readQuery } from "../../../core/protocol/query.js";
import type { Handlers, RouteDeps } from "../router.js";

type CatalogOperation =
  | "GET /v1/models"
  | "GET /v1/voices"
  | "GET /v1/audio/models"
  | "GET /v1/audio/voices"
  | "GET /health"
  | "GET /ready";

/** Handlers that need no key: models, voices and health. */
export function catalogHandlers({
  conversations,
  running,
  isReady,
  serve = SERVED_PARTS,
}: Pick<RouteDeps, "conversations" | "running" | "isReady" | "serve">): Handlers<CatalogOperation> {
  const { catalog } = conversations;
  const speaking = servesTask("synthesis", serve) ? catalog.speaking.all : [];
  const hearing = servesTask("transcription", serve) ? catalog.hearing.all : [];
  const data = speaking.map((model) => toModel(model, catalog));
  // A gateway's engines change while it runs, and with them `diarize`.
  const models = (): Models => ({
    object: "list",
    data,
    transcription: hearing.map((model) => toRecognizer(model, catalog)),
  });
  const health = {
    status: "ok",
    models: everyModel(catalog)
      .filter(({ task }) => servesTask(task, serve))
      .map(({ name }) => name),
  };
  // OpenAI-style chat front ends request these two lists from a speech service.
  const modelIds = { models: speaking.map(({ name }) => ({ id: name, name })) };
  const voiceIds = {
    voices: speaking.flatMap(({ voices }) => voices.map(({ name }) => ({ id: name, name }))),
  };
  return {
    "GET /v1/models": (exchange) => exchange.json(200, models()),
    "GET /v1/voices": (exchange) => exchange.json(200, voicesOf(catalog, exchange.request.query)),
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

function toModel(model: SpeakingModel, { speaking }: Catalog): Model {
  return {
    ...toEntry(model, speaking.default),
    lang: model.lang,
    sample_rate: model.sample_rate,
    voices: model.voices.map((voice) => voice.name),
    default_voice: model.default_voice,
    word_times: model.word_times,
    solver_steps: model.solver_steps,
  };
}

function toRecognizer(model: HearingModel, catalog: Catalog): Models["transcription"][number] {
  return {
    ...toEntry(model, catalog.hearing.default),
    lang: model.lang,
    sample_rate: model.sample_rate,
    live_partials: model.live_partials,
    hot_words: model.alphabet.size > 0,
    diarize: servesSpeakers(catalog),
  };
}

function toEntry(model: CatalogModel, standard: CatalogModel) {
  const { name, notes, created } = model;
  const createdS = created === null ? 0 : Date.parse(created) / 1_000;
  return {
    id: name,
    object: "model",
    created: createdS,
    owned_by: "dauys",
    name,
    notes,
    default: model === standard,
  } as const;
}

function voicesOf({ speaking }: Catalog, query: URLSearchParams): Voices {
  const { model: name = null } = readQuery(VOICES_QUERY, query);
  const model = speaking.require(name);
  const voices = model.voices.map(({ name, gender, style, best_for }) => ({ name, gender, style, best_for }));
  return { model: model.name, voices };
}
