/**
 * What the ids of models add to a request's fingerprint. They were added late: requests that name no model, or the one that
 * was then the only one, have the fingerprint they had before, whichever model answers them now.
 */
const FIRST_SPEAKING = "svc-kk-v1";
const FIRST_HEARING = "svc-kk-ru-v2";

/** A request to speak, as its fingerprint has it. */
export function asFirstAsked<R extends { readonly model: string | null }>(request: R): R {
  return request.model === null ? { ...request, model: FIRST_SPEAKING } : request;
}

/** The model of a request to transcribe, as its fingerprint has it; nothing where none is named. */
export function namedModel(asked: {
  readonly model: { readonly name: string };
  readonly isModelNamed: boolean;
}): readonly string[] {
  const { name } = asked.model;
  return asked.isModelNamed && name !== FIRST_HEARING ? [name] : [];
}
