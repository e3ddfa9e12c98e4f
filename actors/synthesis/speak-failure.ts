import { errorName, type ServiceError } from "../../core/domain/errors.js";
import { CLOSE_CODE, isRetryable, publicDetail } from "../../core/protocol/error-status.js";

/** An error that ends a speaking session, as its client sees it. */
export interface Failure {
  readonly code: number;
  readonly name: string;
  readonly detail: string;
  readonly retryable?: boolean;
}

export function failureOf(error: ServiceError): Failure {
  const { code } = error;
  return {
    code: CLOSE_CODE[code],
    name: errorName(code),
    detail: publicDetail(error),
    retryable: isRetryable(code),
  };
}
