import { asServiceError, errorName } from "../domain/errors.js";

/** What is told of a span: our own words and figures, no text, audio or key among them. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A part of the way of one request, for traces. Everything that works for a request tells its span; mostly there is no listener. */
export interface Span {
  /** False of {@link NO_SPAN}: what only serves to tell it can be spared. */
  readonly isTraced: boolean;
  /** The header by which another process goes on with the trace; null when there is none. */
  readonly traceparent: string | null;
  /** A part of this part, which has to be ended as well. */
  child(name: string, attributes?: SpanAttributes): Span;
  /** Something that has no length. */
  event(name: string, attributes?: SpanAttributes): void;
  set(attributes: SpanAttributes): void;
  /** Ends the span; later calls do nothing. @param failure name of an error when it came to one */
  end(failure?: string | null): void;
}

/** Begins the span of a request. */
export interface Tracer {
  /** @param traceparent the caller's header of that name: the request goes on with that trace */
  begin(name: string, traceparent: string | undefined, attributes?: SpanAttributes): Span;
}

/** Of a request that is not traced. */
export const NO_SPAN: Span = {
  isTraced: false,
  traceparent: null,
  child: () => NO_SPAN,
  event: () => {},
  set: () => {},
  end: () => {},
};

export const NO_TRACER: Tracer = { begin: () => NO_SPAN };

/** The headers by which another process goes on with the traces of these spans. */
export function traceparentsOf(spans: readonly Span[]): readonly string[] {
  return spans.flatMap(({ traceparent }) => (traceparent === null ? [] : [traceparent]));
}

/** Spans of several requests that share some work. */
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

/** Ends a span with the work that it is of. */
export async function inSpan<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

/** Name of an error in a trace. */
function failureOf(error: unknown): string {
  return errorName(asServiceError(error).code);
}
