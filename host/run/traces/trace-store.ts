/** The traces that were recorded of late. */
import type { Span, SpanRecord, TraceRecord, Traces } from '../../model/traces.js';

/** Keeps the latest traces; older ones make room. */
export class TraceStore implements Traces {
  readonly #capacity: number;
  /** In order of arrival: a Map keeps it. Rules that follow the same upstream trace have a record each. */
  readonly #traces = new Map<string, TraceRecord[]>();

  /** Takes every trace besides. */
  listener: (trace: TraceRecord) => void = () => {};

  /** @param capacity traces kept; 0 keeps none */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  add(trace: TraceRecord): void {
    this.listener(trace);
    if (this.#capacity === 0) return;
    const known = this.#traces.get(trace.traceId);
    if (known !== undefined) {
      known.push(trace);
      // A client that reuses one trace id for all it sends must not fill the memory.
      if (known.length > this.#capacity) known.shift();
      return;
    }
    while (this.#traces.size >= this.#capacity) {
      const oldest = this.#traces.keys().next().value;
      if (oldest === undefined) break;
      this.#traces.delete(oldest);
    }
    this.#traces.set(trace.traceId, [trace]);
  }

  /** Ids of the traces of a rule, latest first. */
  idsOf(rule: string, limit = Number.POSITIVE_INFINITY): string[] {
    const ids: string[] = [];
    for (const [id, records] of [...this.#traces].reverse()) {
      if (ids.length >= limit) break;
      if (records.some((record) => record.rule === rule)) ids.push(id);
    }
    return ids;
  }

  /** The root span with all below it; undefined for an unknown trace. */
  get(traceId: string): Span | undefined {
    const records = this.#traces.get(traceId);
    const first = records?.[0];
    if (records === undefined || first === undefined) return undefined;
    const shown = spanOf(first.root, traceId);
    const others = records.slice(1).flatMap(({ root }) => root.children.map((child) => spanOf(child, traceId)));
    return { ...shown, ChildSpan: [...shown.ChildSpan, ...others] };
  }
}

function spanOf(record: SpanRecord, traceId: string): Span {
  return {
    Name: record.name,
    TraceID: traceId,
    SpanID: record.spanId,
    ParentSpanID: record.parentId,
    Attribute: Object.keys(record.attribute).length === 0 ? null : record.attribute,
    Links: null,
    StartTime: timeOf(record.startUs),
    EndTime: timeOf(record.endUs),
    ChildSpan: record.children.map((child) => spanOf(child, traceId)),
  };
}

/** ISO 8601 with offset and microseconds. */
function timeOf(us: number): string {
  const whole = Math.floor(us / 1000);
  const micros = String(Math.floor(us - whole * 1000)).padStart(3, '0');
  return `${new Date(whole).toISOString().slice(0, -1)}${micros}+00:00`;
}
