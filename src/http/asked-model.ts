import type { SynthesisRequest } from "../../core/protocol/synthesis-request.js";

/**
 * What the ids of models add to a request's fingerprint. They were added late: requests that name no model, or the one that
 * was then the only one, have the fingerprint they had before, whichever model answers them now.
 */
const FIRST_SPEAKING = "svc-kk-v1";
const FIRST_HEARING = "svc-kk-ru-v2";

/** A request to speak, as its fingerprint has it: with the usual room tone it has that from before there was any. */
export function asFirstAsked(request: SynthesisRequest) {
  const { model, room_tone } = request;
  // Members keep their places, and what is undefined is not written.
  return { ...request, model: model ?? FIRST_SPEAKING, room_tone: room_tone ? undefined : false };
}

/** The model of a request to transcribe, as its fingerprint has it; nothing where none is named. */
export function namedModel(asked: {
  readonly model: { readonly name: string };
  readonly isModelNamed: boolean;
}): readonly string[] {
  const { name } = asked.model;
  return asked.isModelNamed && name !== FIRST_HEARING ? [name] : [];
}
