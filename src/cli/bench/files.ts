import { countWordEdits } from "../../../core/domain/text/error-rate.js";
import { creditsFor, DEFAULT_TARIFFS } from "../../../core/domain/usage/tariff.js";
import { type Call, failedCall, runSchedule } from "./arrivals.js";
import { type Clip, RATE_HZ } from "./clips.js";
import { call, creditsOf } from "./http-call.js";
import type { LevelContext, LevelPlan } from "./level.js";
import type { LevelResult } from "./result.js";

const BOUNDARY = "dauys-bench-4f1c2a";

interface FileWire {
  path(model: string | null): string;
  readonly authorization: "Bearer" | "Token";
  body(wav: Uint8Array, model: string | null): { readonly type: string; readonly bytes: Uint8Array };
  text(answer: unknown): string;
}

const FILE_WIRES: Readonly<Record<LevelContext["wire"], FileWire>> = {
  dauys: {
    path: (model) => `/v1/transcribe${model === null ? "" : `?model=${encodeURIComponent(model)}`}`,
    authorization: "Bearer",
    body: raw,
    text: (answer) => String((answer as { readonly text?: unknown }).text),
  },
  openai: {
    path: () => "/v1/audio/transcriptions",
    authorization: "Bearer",
    body: (wav, model) => form(wav, model ?? "gpt-4o-transcribe"),
    text: (answer) => String((answer as { readonly text?: unknown }).text),
  },
  deepgram: {
    path: (model) =>
      `/v1/listen?language=multi${model === null ? "" : `&model=${encodeURIComponent(model)}`}`,
    authorization: "Token",
    body: raw,
    text: deepgramText,
  },
};

function raw(wav: Uint8Array) {
  return { type: "audio/wav", bytes: wav };
}

function form(wav: Uint8Array, model: string) {
  const part = (head: string) =>
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`);
  const bytes = Buffer.concat([
    part('name="model"'),
    Buffer.from(`${model}\r\n`),
    part('name="file"; filename="clip.wav"\r\nContent-Type: audio/wav'),
    wav,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  return { type: `multipart/form-data; boundary=${BOUNDARY}`, bytes };
}

function deepgramText(answer: unknown): string {
  const { results } = answer as {
    readonly results: {
      readonly channels: readonly { readonly alternatives: readonly { readonly transcript: string }[] }[];
    };
  };
  return results.channels[0]?.alternatives[0]?.transcript ?? "";
}

/** Uploads the clips in turn, `rate` per second. */
export function runFilesLevel(context: LevelContext, rate: number, seconds: number): Promise<LevelResult> {
  const { clips } = context;
  return runSchedule(context, (nth) => fileCall(context, clips[nth % clips.length]!), { rate, seconds });
}

export function filesEstimate({ clips }: LevelPlan, requests: number): number {
  let credits = 0;
  for (let nth = 0; nth < requests; nth++) credits += priceOf(clips[nth % clips.length]!);
  return credits;
}

function priceOf({ pcm }: Clip): number {
  return creditsFor({ units: pcm.length, unitsPerSecond: RATE_HZ }, DEFAULT_TARIFFS.file);
}

function fileCall(context: LevelContext, clip: Clip): Call {
  const { path, authorization, body, text } = FILE_WIRES[context.wire];
  return {
    estimate: priceOf(clip),
    run: async (dueAtMs) => {
      const { type, bytes } = body(clip.wav, context.model);
      try {
        const answer = await call({
          method: "POST",
          url: context.url + path(context.model),
          headers: { Authorization: `${authorization} ${context.key}`, "Content-Type": type },
          body: bytes,
          signal: context.signal,
        });
        const main = answer.endedAtMs - dueAtMs;
        const hypothesis = text(JSON.parse(answer.body.toString("utf8")));
        return {
          values: { response: [main], speed: [clip.pcm.length / RATE_HZ / (main / 1_000)] },
          words: clip.text === null ? [] : [countWordEdits({ reference: clip.text, hypothesis })],
          ...{ missed: 0, sentences: 1, underruns: 0, failure: null },
          ...{ charged: creditsOf(answer.headers), main },
        };
      } catch (error) {
        return failedCall(error instanceof Error ? error.message : String(error));
      }
    },
  };
}
