/** Traces: the way of a batch of input through a rule, operator by operator. */

/** Strategy of a trace: `always` follows all input, `head` only input with the context of a trace from upstream. */
export type TraceStrategy = 'always' | 'head';

/** A span as the data plane records it; times in epoch microseconds. */
export interface SpanRecord {
  spanId: string;
  /** Zeros for a root without a parent upstream. */
  parentId: string;
  name: string;
  startUs: number;
  endUs: number;
  attribute: Record<string, string | number>;
  children: SpanRecord[];
}

export interface TraceRecord {
  traceId: string;
  rule: string;
  root: SpanRecord;
}

/** A span as the interface shows it. */
export interface Span {
  Name: string;
  TraceID: string;
  SpanID: string;
  ParentSpanID: string;
  Attribute: Record<string, string | number> | null;
  Links: null;
  StartTime: string;
  EndTime: string;
  ChildSpan: Span[];
}

export const noParent = '0000000000000000';

/** The traces that are kept. */
export interface Traces {
  /** Called with every trace. */
  listener: (trace: TraceRecord) => void;
  /** Ids of the traces of a rule, latest first. */
  idsOf(rule: string, limit?: number): string[];
  /** The root span with all below it; undefined for an unknown trace. */
  get(traceId: string): Span | undefined;
}
