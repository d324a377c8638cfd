/** Figures of one benchmark run. */
export interface RunResult {
  workload: string;
  title: string;
  /** haumea, twin, or the address of another engine. */
  engine: string;
  dataSet: string;
  /** How the messages came: batched or one write each. */
  sender: 'batching' | 'per message';
  /** Knobs of a sweep, e.g. { coalesceMs: 1 }. */
  knobs: Record<string, string>;
  /** Messages sent, and messages the engine's source took. */
  sent: number;
  received: number;
  /** Rate asked for; 0: as fast as possible. */
  rateAsked: number;
  /** Messages per second from the first byte sent to the last result. */
  rate: number;
  /** CPU time of the engine for each message, ns. */
  cpuNsPerMessage: number;
  /** Share of one core, 0..1. */
  cpuShare: number;
  lostPercent: number;
  latencyMs: { p50: number; p90: number; p99: number; max: number } | null;
  peakBytes: number;
  /** Rules and bytes for each (many rules). */
  rules: number;
  bytesPerRule: number;
  /** Milliseconds from process start to the first answer. */
  startMs: number;
  /** Faults that the check of the output found; empty when there are none. */
  findings: string[];
}

/** An empty result to fill in. */
export function blankResult(workload: string, title: string, engine: string): RunResult {
  return {
    workload,
    title,
    engine,
    dataSet: 'plain',
    sender: 'batching',
    knobs: {},
    sent: 0,
    received: 0,
    rateAsked: 0,
    rate: Number.NaN,
    cpuNsPerMessage: Number.NaN,
    cpuShare: Number.NaN,
    lostPercent: 0,
    latencyMs: null,
    peakBytes: Number.NaN,
    rules: 1,
    bytesPerRule: Number.NaN,
    startMs: Number.NaN,
    findings: [],
  };
}

/** Sets rate and costs: `messages` were taken in `seconds` with `cpuMs` of the engine's time. */
export function setCosts(result: RunResult, messages: number, seconds: number, cpuMs: number): void {
  result.rate = messages / seconds;
  result.cpuNsPerMessage = (cpuMs * 1e6) / messages;
  result.cpuShare = cpuMs / 1000 / seconds;
}
