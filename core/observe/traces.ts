import type { Span as OtelSpan } from "@opentelemetry/api";
import { NO_TRACER, type Span, type SpanAttributes, type Tracer } from "../ports/span.js";
import type { Log } from "./log.js";

/** Spans that wait to be sent; beyond them the newest are dropped, so that a receiver that is away costs memory and no more. */
const MAX_WAITING = 8_192;
const SENT_EVERY_MS = 1_000;
const SEND_WITHIN_MS = 5_000;
/** A header of W3C's trace context, version 00; later versions begin alike. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export interface TraceOptions {
  /** Base address of an OTLP receiver over HTTP; null traces nothing, and loads nothing. */
  readonly endpoint: string | null;
  readonly version: string;
  /** Tells this process from others of the same service. */
  readonly instance: string;
  readonly log: Log;
}

/** A tracer that has to be closed, so that the last spans are sent. */
export interface Traces {
  readonly tracer: Tracer;
  close(): Promise<void>;
}

/**
 * Sends the spans of requests to an OTLP receiver as JSON over HTTP. A caller's trace that is not sampled is not sent, all
 * others are. `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_EXPORTER_OTLP_HEADERS` mean what OpenTelemetry says;
 * its packages read them.
 */
export async function openTraces({ endpoint, version, instance, log }: TraceOptions): Promise<Traces> {
  if (endpoint === null) return { tracer: NO_TRACER, close: async () => {} };
  const [api, core, resources, trace, otlp] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/core"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  core.setGlobalErrorHandler((error) => log.warn({ err: error }, "spans not sent"));
  const attributes = { "service.name": "dauys", "service.version": version, "service.instance.id": instance };
  const told = resources.detectResources({ detectors: [resources.envDetector] });
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, "")}/v1/traces`,
    timeoutMillis: SEND_WITHIN_MS,
  });
  const processor = new trace.BatchSpanProcessor({
    exporter,
    maxQueueSize: MAX_WAITING,
    scheduledDelayMillis: SENT_EVERY_MS,
    exportTimeoutMillis: SEND_WITHIN_MS,
  });
  const provider = new trace.TracerProvider({
    resource: resources.resourceFromAttributes(attributes).merge(told),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("dauys", version);
  const { SpanKind, SpanStatusCode, ROOT_CONTEXT } = api;

  const start = (name: string, context: typeof ROOT_CONTEXT, kind: number, attributes: SpanAttributes) =>
    wrap(tracer.startSpan(name, { kind, attributes: { ...attributes } }, context), context);
  const wrap = (span: OtelSpan, context: typeof ROOT_CONTEXT): Span => {
    const { traceId, spanId, traceFlags } = span.spanContext();
    return {
      isTraced: true,
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
      child: (name, more = {}) => start(name, api.trace.setSpan(context, span), SpanKind.INTERNAL, more),
      event: (name, more = {}) => void span.addEvent(name, { ...more }),
      set: (more) => void span.setAttributes({ ...more }),
      end: (failure = null) => {
        if (!span.isRecording()) return;
        if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
        span.end();
      },
    };
  };
  return {
    tracer: {
      begin(name, traceparent, attributes = {}) {
        const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
        const caller = { traceId: traceId ?? "", spanId: spanId ?? "", isRemote: true };
        const parent = { ...caller, traceFlags: Number.parseInt(flags ?? "0", 16) & 1 };
        const context = api.trace.isSpanContextValid(parent)
          ? api.trace.setSpanContext(ROOT_CONTEXT, parent)
          : ROOT_CONTEXT;
        return start(name, context, SpanKind.SERVER, attributes);
      },
    },
    close: () =>
      provider.shutdown().catch((error: unknown) => log.warn({ err: error }, "last spans not sent")),
  };
}
