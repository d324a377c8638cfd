/** Traces of rules: switched on and off, listed, shown; and where they are sent to. */
import { inContext } from '../../base/errors.js';
import type { RuleRepository } from '../../meta/definitions/rules.js';
import type { Engine, Preparing } from '../../model/engine.js';
import type { Span, TraceStrategy } from '../../model/traces.js';
import type { TraceExporter } from '../../run/traces/trace-export.js';
import { ruleErrors } from '../errors/rules.js';

export class TraceService {
  readonly #rules: RuleRepository;
  readonly #engine: Engine;
  readonly #exporter: TraceExporter;

  constructor(rules: RuleRepository, engine: Engine, exporter: TraceExporter) {
    this.#rules = rules;
    this.#engine = engine;
    this.#exporter = exporter;
  }

  start(id: string, { strategy }: Record<string, unknown>, how?: Preparing): Promise<void> {
    return inContext('trace rule error', async () => this.#set(id, readStrategy(strategy), how));
  }

  stop(id: string): Promise<void> {
    return inContext('trace rule error', () => this.#set(id, null));
  }

  /** Ids of the traces of a rule, latest first; an unknown rule has none. */
  idsOf(rule: string, limit: string | undefined): string[] {
    if (limit === undefined || limit === '') return this.#engine.traces.idsOf(rule);
    const count = Number(limit);
    if (!Number.isSafeInteger(count) || count < 0) {
      throw ruleErrors.traceLimit(JSON.stringify(limit));
    }
    return this.#engine.traces.idsOf(rule, count);
  }

  get(traceId: string): Span {
    const span = this.#engine.traces.get(traceId);
    if (span === undefined) throw ruleErrors.traceMissing(traceId);
    return span;
  }

  /** Begins or ends to send traces to a collector; the tracing of rules is unchanged. */
  async collect(body: Record<string, unknown>): Promise<string> {
    const { action, service_name: name, collector_url: url } = body;
    if (action === 'stop') {
      await this.#exporter.stop();
      return 'success';
    }
    if (action !== 'start') {
      throw ruleErrors.traceAction(JSON.stringify(action));
    }
    for (const [member, value] of Object.entries({ service_name: name, collector_url: url })) {
      if (value !== undefined && typeof value !== 'string') throw ruleErrors.traceText(member);
    }
    await this.#exporter.start({ url: String(url ?? ''), serviceName: String(name ?? '') });
    return 'success';
  }

  async #set(id: string, strategy: TraceStrategy | null, how?: Preparing): Promise<void> {
    if (!this.#rules.has(id)) throw ruleErrors.notThere(id);
    if (this.#engine.state(id) === undefined) throw ruleErrors.notRunning(id);
    await this.#engine.setTrace(id, strategy, how);
  }
}

/** Anything but `head` traces all input. */
function readStrategy(strategy: unknown): TraceStrategy {
  if (strategy !== undefined && strategy !== null && typeof strategy !== 'string') {
    throw ruleErrors.traceStrategy();
  }
  return strategy === 'head' ? 'head' : 'always';
}
