import { asServiceError, type ErrorCode, ServiceError } from "../../core/domain/errors.js";
import { ProviderError } from "../../core/domain/placement/provider-error.js";
import type { ProviderFailure } from "./protocol.js";

/** A failure as it travels between threads: classes do not. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly provider: ProviderFailure | null;
}

export function failureOf(thrown: unknown): Failure {
  const error = asServiceError(thrown);
  const { code, message } = error;
  if (!(error instanceof ProviderError)) return { code, message, provider: null };
  const { provider, kind } = error;
  return { code, message, provider: { provider, kind } };
}

export function errorOf({ code, message, provider }: Failure): ServiceError {
  if (provider === null) return new ServiceError(code, message);
  return new ProviderError(provider.provider, provider.kind, message);
}
