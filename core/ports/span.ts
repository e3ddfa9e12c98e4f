import { asServiceError, errorName } from "../domain/errors.js";

/** Attributes of a span: fixed terms and numbers, no text, audio or key. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A part of a request, for traces. */
export interface Span {
  /** False for {@link NO_SPAN}: work that only serves tracing can be skipped. */
  readonly isTraced: boolean;
  /** Header with which another process continues the trace; null when not traced. */
  readonly traceparent: string | null;
  /** Starts a part of this span, which must be ended separately. */
  child(name: string, attributes?: SpanAttributes): Span;
  event(name: string, attributes?: SpanAttributes): void;
  set(attributes: SpanAttributes): void;
  /** Ends the span; later calls do nothing. @param failure name of the error, if any */
  end(failure?: string | null): void;
}

/** Starts the spans of requests. */
export interface Tracer {
  /** @param traceparent the caller's header of that name, whose trace the request continues */
  begin(name: string, traceparent: string | undefined, attributes?: SpanAttributes): Span;
}

/** The span of a request that is not traced. */
export const NO_SPAN: Span = {
  isTraced: false,
  traceparent: null,
  child: () => NO_SPAN,
  event: () => {},
  set: () => {},
  end: () => {},
};

export const NO_TRACER: Tracer = { begin: () => NO_SPAN };

/** Returns the headers with which another process continues these spans' traces. */
export function traceparentsOf(spans: readonly Span[]): readonly string[] {
  return spans.flatMap(({ traceparent }) => (traceparent === null ? [] : [traceparent]));
}

/** Combines the spans of several requests that share some work. */
export function together(spans: readonly Span[]): Span {
  const [first = NO_SPAN, ...others] = spans;
  if (others.length === 0) return first;
  const each = (act: (span: Span) => void) => {
    for (const span of spans) act(span);
  };
  return {
    isTraced: spans.some(({ isTraced }) => isTraced),
    traceparent: first.traceparent,
    child: (name, attributes) => together(spans.map((span) => span.child(name, attributes))),
    event: (name, attributes) => each((span) => span.event(name, attributes)),
    set: (attributes) => each((span) => span.set(attributes)),
    end: (failure) => each((span) => span.end(failure)),
  };
}

/** Runs some work and ends its span. */
export async function inSpan<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end(errorName(asServiceError(error).code));
    throw error;
  }
}
