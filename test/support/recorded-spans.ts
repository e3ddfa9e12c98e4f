import type { Span, SpanAttributes, Tracer } from "../../core/ports/span.js";

/** What is recorded about one span. */
export interface RecordedSpan {
  readonly name: string;
  /** The traceparent of its parent span, or of the request. */
  readonly parent: string | undefined;
  readonly traceparent: string;
  readonly attributes: Record<string, unknown>;
  readonly events: string[];
  ends: number;
}

/** Records spans. */
export class RecordedSpans implements Tracer {
  readonly spans: RecordedSpan[] = [];

  begin(name: string, parent: string | undefined, attributes: SpanAttributes = {}): Span {
    const id = (this.spans.length + 1).toString(16).padStart(16, "0");
    const traceparent = `00-${"a".repeat(32)}-${id}-01`;
    const one: RecordedSpan = {
      name,
      parent,
      traceparent,
      attributes: { ...attributes },
      events: [],
      ends: 0,
    };
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

  named(name: string): readonly RecordedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}
