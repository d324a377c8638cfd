/** Figures of the interfaces of services, as their status and the metrics show them. */
import { type BreakerState, type FailureKind, noFigures, type ServiceFigures } from '../../plugins/service-figures.js';
import type { ServiceDefinition } from './definition.js';

export interface InterfaceFigures {
  readonly service: string;
  readonly interface: string;
  readonly address: string;
  readonly figures: ServiceFigures;
}

/** Status of an interface; names are those of the status of a rule where it has the same. */
export interface InterfaceStatus {
  readonly address: string;
  readonly breaker: BreakerState;
  readonly calls_total: number;
  readonly errors_total: Readonly<Record<FailureKind, number>>;
  readonly tries_total: number;
  readonly calls_in_flight: number;
  readonly calls_waiting: number;
  /** Mean time of answered calls. */
  readonly process_latency_us: number;
  readonly last_exception: string;
  /** Epoch milliseconds; 0: none. */
  readonly last_exception_time: number;
}

/** All interfaces of services, with zeros for those that nobody has called. */
export function figuresOf(
  services: readonly (readonly [name: string, ServiceDefinition])[],
  called: readonly ServiceFigures[],
): InterfaceFigures[] {
  const byName = new Map(called.map((figures) => [figures.name, figures]));
  return services.flatMap(([service, { Interfaces }]) =>
    Object.entries(Interfaces).map(([id, { Addr }]) => {
      const key = `${service}.${id}`;
      return { service, interface: id, address: withoutLogin(Addr), figures: byName.get(key) ?? noFigures(key) };
    }),
  );
}

export function statusOf({ address, figures }: InterfaceFigures): InterfaceStatus {
  const { breaker, calls, errors, tries, inFlight, waiting, times, lastError, lastErrorAt } = figures;
  const answered = times.counts.reduce((sum, count) => sum + count, 0);
  return {
    address,
    breaker,
    calls_total: calls,
    errors_total: errors,
    tries_total: tries,
    calls_in_flight: inFlight,
    calls_waiting: waiting,
    process_latency_us: answered === 0 ? 0 : Math.round(times.sumUs / answered),
    last_exception: lastError,
    last_exception_time: lastErrorAt,
  };
}

function withoutLogin(address: string): string {
  return URL.canParse(address) ? address.replace(/^([a-z+-]+:\/\/)[^/@]*@/i, '$1') : address;
}
