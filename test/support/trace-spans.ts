import type { Span, SpanAttributes, Tracer } from "../../core/ports/span.js";

/** What was spans of one span. */
export interface TraceSpan {
  readonly name: string;
  /** By which it goes on with a trace: that of the span it is a part of, or its caller's header. */
  readonly parent: string | undefined;
  readonly traceparent: string;
  readonly attributes: Record<string, unknown>;
  readonly events: string[];
  ends: number;
}

/** Keeps what is spans of spans. */
export class TraceSpans implements Tracer {
  readonly spans: TraceSpan[] = [];

  begin(name: string, parent: string | undefined, attributes: SpanAttributes = {}): Span {
    const id = (this.spans.length + 1).toString(16).padStart(16, "0");
    const traceparent = `00-${"a".repeat(32)}-${id}-01`;
    const one: TraceSpan = { name, parent, traceparent, attributes: { ...attributes }, events: [], ends: 0 };
    this.spans.push(one);
    return {
      isTraced: true,
      traceparent,
      child: (part, ofPart) => this.begin(part, traceparent, ofPart),
      event: (event) => void one.events.push(event),
      set: (more) => void Object.assign(one.attributes, more),
      end: () => void one.ends++,
    };
  }

  named(name: string): readonly TraceSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}
