import type { Context, Span as OtelSpan, Tracer as OtelTracer } from "@opentelemetry/api";
import { NO_TRACER, type Span, type SpanAttributes, type Tracer } from "../ports/span.js";
import type { Log } from "./log.js";

/**
 * Maximum number of waiting spans; beyond it the newest are dropped, so that a lost receiver costs bounded
 * memory.
 */
const MAX_WAITING = 8_192;
const SENT_EVERY_MS = 1_000;
const SEND_WITHIN_MS = 5_000;
/** `traceparent` of W3C Trace Context, version 00; later versions begin with the same fields. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export interface TraceOptions {
  /** Base URL of an OTLP receiver over HTTP; null disables tracing and loads no package. */
  readonly endpoint: string | null;
  readonly version: string;
  /** Distinguishes this process from others of the same service. */
  readonly instance: string;
  readonly log: Log;
}

/** A tracer; `close` sends the last spans. */
export interface Traces {
  readonly tracer: Tracer;
  close(): Promise<void>;
}

/**
 * Sends the spans of requests to an OTLP receiver as JSON over HTTP, except traces that their caller does not
 * sample. OpenTelemetry's packages read `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and
 * `OTEL_EXPORTER_OTLP_HEADERS`.
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
  const fromEnvironment = resources.detectResources({ detectors: [resources.envDetector] });
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
    resource: resources.resourceFromAttributes(attributes).merge(fromEnvironment),
    spanProcessors: [processor],
  });
  return {
    tracer: tracerOver(api, provider.getTracer("dauys", version)),
    close: () =>
      provider.shutdown().catch((error: unknown) => log.warn({ err: error }, "last spans not sent")),
  };
}

/** Adapts OpenTelemetry's tracer to the port. */
function tracerOver(api: typeof import("@opentelemetry/api"), tracer: OtelTracer): Tracer {
  const { SpanKind, SpanStatusCode, ROOT_CONTEXT } = api;
  const start = (name: string, context: Context, kind: number, attributes: SpanAttributes) =>
    wrap(tracer.startSpan(name, { kind, attributes: { ...attributes } }, context), context);
  const wrap = (span: OtelSpan, context: Context): Span => {
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
    begin(name, traceparent, attributes = {}) {
      const [, traceId = "", spanId = "", flags = "0"] = TRACEPARENT.exec(traceparent ?? "") ?? [];
      const traceFlags = Number.parseInt(flags, 16) & 1;
      const parent = { traceId, spanId, traceFlags, isRemote: true };
      const isValid = api.trace.isSpanContextValid(parent);
      const context = isValid ? api.trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      return start(name, context, SpanKind.SERVER, attributes);
    },
  };
}
