/** What is counted of the calls of an interface. */
import { addLatencies, emptyHistogram, type Histogram, noteLatency } from '../../kernels/values/histogram.js';

/**
 * Why a call has no value: what went wrong with it (`service/faults.ts`), arguments that do not fit (`invalid`), a
 * service that is not asked (`down`), or the end of its rule (`ended`).
 */
export type FailureKind = 'unreachable' | 'busy' | 'late' | 'refused' | 'invalid' | 'down' | 'ended';

/** Closed: calls go out. Half-open: one tries the service. Open: none goes out. */
export type BreakerState = 'closed' | 'half-open' | 'open';

const breakerStates: readonly BreakerState[] = ['closed', 'half-open', 'open'];

/** Calls that have no end yet. */
export interface OpenCalls {
  readonly inFlight: number;
  /** Calls that wait until others end. */
  readonly waiting: number;
  readonly breaker: BreakerState;
}

export interface ServiceFigures extends OpenCalls {
  /** Service and interface: `shop.pricing`. */
  readonly name: string;
  /** Calls that have ended, also those without a value. */
  readonly calls: number;
  readonly errors: Readonly<Record<FailureKind, number>>;
  /** Requests that were sent; more than the calls when some were tried again. */
  readonly tries: number;
  /** Times of the calls that were sent, with all their tries. */
  readonly times: Histogram;
  readonly lastError: string;
  /** Epoch milliseconds; 0: there was no error. */
  readonly lastErrorAt: number;
}

/** Counts calls from the start of the data plane, whichever code of the interface makes them. */
export class ServiceCounts {
  calls = 0;
  tries = 0;
  readonly errors: Record<FailureKind, number> = noErrors();
  readonly times = emptyHistogram();
  lastError = '';
  lastErrorAt = 0;

  /** A call has been answered, which was begun at `since` (ms). */
  answered(since: number, now: number): void {
    this.calls++;
    noteLatency(this.times, (now - since) * 1000);
  }

  failed(kind: FailureKind, reason: string): void {
    this.calls++;
    this.errors[kind]++;
    if (kind === 'ended') return;
    this.lastError = reason;
    this.lastErrorAt = Date.now();
  }
}

function noErrors(): Record<FailureKind, number> {
  return { unreachable: 0, busy: 0, late: 0, refused: 0, invalid: 0, down: 0, ended: 0 };
}

/** Figures of an interface that nobody has called. */
export function noFigures(name: string): ServiceFigures {
  return { name, ...new ServiceCounts(), ...joinedOpen([]) };
}

/** Figures of interfaces, each once: several data planes may call it. */
export function joinedFigures(all: readonly ServiceFigures[]): ServiceFigures[] {
  const found = new Map<string, ServiceFigures>();
  for (const more of all) {
    const former = found.get(more.name);
    found.set(more.name, former === undefined ? more : added(former, more));
  }
  return [...found.values()];
}

function added(a: ServiceFigures, b: ServiceFigures): ServiceFigures {
  const errors = noErrors();
  for (const kind of Object.keys(errors) as FailureKind[]) errors[kind] = a.errors[kind] + b.errors[kind];
  const times = emptyHistogram();
  for (const one of [a, b]) addLatencies(times, one.times, null);
  return {
    name: a.name,
    calls: a.calls + b.calls,
    errors,
    tries: a.tries + b.tries,
    times,
    ...joinedOpen([a, b]),
    ...(a.lastErrorAt >= b.lastErrorAt ? lastOf(a) : lastOf(b)),
  };
}

function lastOf({ lastError, lastErrorAt }: ServiceFigures): Pick<ServiceFigures, 'lastError' | 'lastErrorAt'> {
  return { lastError, lastErrorAt };
}

/** What is open at several places; of their breakers the one that is open counts. */
export function joinedOpen(all: readonly OpenCalls[]): OpenCalls {
  const worst = Math.max(0, ...all.map(({ breaker }) => breakerStates.indexOf(breaker)));
  return {
    inFlight: all.reduce((sum, { inFlight }) => sum + inFlight, 0),
    waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
    breaker: breakerStates[worst] as BreakerState,
  };
}
