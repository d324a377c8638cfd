/** An engine that moves no data: checks names, keeps states. For tests of the control plane alone. */
import { HaumeaError } from '../../../host/base/errors.js';
import type {
  Catalog,
  ConnectionUse,
  Engine,
  RuleCpuTime,
  RuleDefinition,
  RuleState,
  RuleStatus,
  RuleSummary,
  SourceWarnings,
} from '../../../host/model/engine.js';
import type { TraceStrategy } from '../../../host/model/traces.js';
import { TraceStore } from '../../../host/run/traces/trace-store.js';
import { parseSelect } from '../../../host/sql/parser.js';

interface Entry {
  rule: RuleDefinition;
  state: RuleState;
  wasStarted: boolean;
  trace?: TraceStrategy | null;
  sources: string[];
}

const sinks = ['log', 'memory', 'nop', 'mqtt', 'file'];

export class EngineDouble implements Engine {
  readonly traces = new TraceStore(100);
  readonly #catalog: Catalog;
  readonly #entries = new Map<string, Entry>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  check(rule: RuleDefinition): { sources: string[]; warnings: string[] } {
    const source = parseSelect(rule.sql).from.name;
    if (this.#catalog.source(source) === undefined) throw new HaumeaError('plan', `stream ${source} is not found`);
    const unknown = rule.actions.find(({ type }) => !sinks.includes(type));
    if (unknown !== undefined) throw new HaumeaError('unknownConnector', `sink ${unknown.type} not found`);
    return { sources: [source], warnings: [] };
  }

  explain(rule: RuleDefinition): string {
    return `plan of ${this.check(rule).sources.join(', ')}`;
  }

  outputFields(rule: RuleDefinition): string[] {
    return this.check(rule).sources;
  }

  warningsOf(): SourceWarnings {
    return { warnings: [], notes: [] };
  }

  define(rule: RuleDefinition): string[] {
    const { sources } = this.check(rule);
    const old = this.#entries.get(rule.id);
    this.#entries.set(rule.id, { state: 'stopped', wasStarted: false, ...old, rule, sources });
    return [];
  }

  start(id: string): void {
    Object.assign(this.#entry(id), { state: 'running', wasStarted: true });
  }

  remarks(): [] {
    return [];
  }

  async stop(id: string): Promise<[]> {
    this.#entry(id).state = 'stopped';
    return [];
  }

  async restart(id: string): Promise<[]> {
    this.start(id);
    return [];
  }

  async remove(id: string): Promise<[]> {
    this.#entries.delete(id);
    return [];
  }

  state(id: string): RuleState | undefined {
    return this.#entries.get(id)?.state;
  }

  opening(): [] {
    return [];
  }

  async status(id: string): Promise<RuleStatus> {
    const { state, wasStarted } = this.#entry(id);
    const message = state === 'stopped' ? 'canceled manually' : '';
    const metrics = {
      sourceRecordsInTotal: 7,
      source_s_0_last_exception_time: 5,
      source_s_0_last_exception: 'bad row',
      source_s_0_exceptions_total: 2,
    };
    return {
      status: state,
      message,
      lastStartTimestamp: wasStarted ? 1 : 0,
      lastStopTimestamp: 0,
      nextStartTimestamp: 0,
      metrics,
      troubles: [],
    };
  }

  async summaries(): Promise<RuleSummary[]> {
    return [...this.#entries].map(([id, { state }]) => ({
      id,
      status: state,
      lastException: 'bad row',
      exceptionsTotal: 2,
      troubles: [],
    }));
  }

  topology(id: string): { sources: string[]; edges: Record<string, string[]> } | undefined {
    const { wasStarted, sources } = this.#entry(id);
    return wasStarted ? { sources: sources.map((name) => `source_${name}`), edges: {} } : undefined;
  }

  async resetSource(): Promise<string> {
    return 'it keeps no place that could be reset';
  }

  async cpuTimes(): Promise<RuleCpuTime[]> {
    return [...this.#entries].map(([id], i) => ({ id, startedAt: Date.now() - 60_000 * i, cpuUs: 120_000 }));
  }

  async scanTables(): Promise<[]> {
    return [];
  }

  usersOf(stream: string, alsoStopped: ReadonlySet<string> = new Set()): string[] {
    return [...this.#entries.values()]
      .filter(({ rule, state }) => state !== 'stopped' || alsoStopped.has(rule.id))
      .filter(({ sources }) => sources.includes(stream))
      .map(({ rule }) => rule.id);
  }

  fieldsRead(): string[] {
    return [];
  }

  /** Sinks that select a connection use it. */
  async setTrace(id: string, strategy: TraceStrategy | null): Promise<void> {
    const entry = this.#entry(id);
    if (entry.state !== 'running' && strategy !== null) throw new HaumeaError('state', `rule ${id} is not running`);
    entry.trace = strategy;
  }

  isTraced(id: string): boolean {
    return (this.#entries.get(id)?.trace ?? null) !== null;
  }

  connectionUses(): ConnectionUse[] {
    return [...this.#entries.values()]
      .filter(({ state }) => state !== 'stopped')
      .flatMap(({ rule }) =>
        rule.actions.map(({ type, props }, i) => ({
          id: `${rule.id}_sink_${type}_${i}`,
          rule: rule.id,
          typ: type,
          selector: props.connectionSelector as string | undefined,
          props,
          state: async () => ({ status: 'connecting' as const, reason: '' }),
        })),
      );
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }

  #entry(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`the engine was not given the rule ${id}`);
    return entry;
  }
}
