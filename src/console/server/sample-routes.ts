import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Exchange } from "../../http/exchange.js";
import type { Route } from "../../http/router.js";

export interface SampledModel {
  readonly name: string;
  /** Folder of the model's package; its `samples` may contain a `<voice>.ogg` per voice. */
  readonly folder: string;
  readonly voices: readonly string[];
}

type Samples = ReadonlyMap<string, Buffer>;

const CACHED = { "cache-control": "public, max-age=3600", "x-content-type-options": "nosniff" };

/**
 * Serves voice samples from model packages, free of charge. `/console/samples` lists the voices that have a
 * sample, and `/console/samples/<voice>` returns the audio. Both use the default model, or the one in
 * `?model=`.
 *
 * @param models the default model first
 */
export function sampleRoutes(models: readonly SampledModel[]): readonly Route[] {
  const byName = new Map(models.map((model) => [model.name, model]));
  const loading = new Map<SampledModel, Promise<Samples>>();
  const samplesOf = async ({ request }: Exchange): Promise<Samples> => {
    const name = request.query.get("model");
    const model = name === null ? models[0] : byName.get(name);
    if (model === undefined)
      throw new ServiceError(
        "NOT_FOUND",
        name === null ? "no model is installed" : `no such model: "${name}"`,
      );
    const samples = loading.get(model) ?? loadSamples(model);
    loading.set(model, samples);
    return samples;
  };
  return [
    {
      method: "GET",
      path: "/console/samples",
      isSameOrigin: true,
      handle: async (exchange) =>
        exchange.json(200, { voices: [...(await samplesOf(exchange)).keys()] }, CACHED),
    },
    {
      method: "GET",
      path: "/console/samples/:voice",
      isSameOrigin: true,
      handle: async (exchange, { voice = "" }) => {
        const sample = (await samplesOf(exchange)).get(decoded(voice));
        if (sample === undefined) throw new ServiceError("NOT_FOUND", `no sample for voice "${voice}"`);
        exchange.start(200, { "content-type": "audio/ogg", ...CACHED });
        await exchange.end(sample);
      },
    },
  ];
}

/** Loads all samples into memory; together they are as small as a picture. */
async function loadSamples({ folder, voices }: SampledModel): Promise<Samples> {
  const found = await Promise.all(
    // Operators choose the names. A name that leads out of the folder has no sample.
    voices.filter((voice) => basename(voice) === voice).map((voice) => loadSample(folder, voice)),
  );
  return new Map(found.flatMap((sample) => sample ?? []));
}

async function loadSample(folder: string, voice: string): Promise<[[string, Buffer]] | null> {
  const sound = await readFile(join(folder, "samples", `${voice}.ogg`)).catch(() => null);
  return sound === null ? null : [[voice, sound]];
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
