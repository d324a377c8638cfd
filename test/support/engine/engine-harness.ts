/** An engine with its thread, without REST and store: streams are given as statements. */
import { silent } from '../../../host/base/log/log.js';
import type { Catalog, RuleDefinition, RuleOptions, RuleState, RuleStatus } from '../../../host/model/engine.js';
import { createEngine, type EngineOptions } from '../../../host/run/engine.js';
import { Division } from '../../../host/run/planes/placement/division.js';
import type { Rules } from '../../../host/run/rules.js';
import { parseStatement } from '../../../host/sql/parser.js';
import { defineSource, type StreamDefinition } from '../../../host/sql/source-def.js';
import { eventually, temporaryFolder } from '../harness.js';
import { defaultOptions } from './rule-options.js';

type Action = [type: string, props: Record<string, unknown>];

export interface TestEngine {
  readonly engine: Rules;
  /** Adds a stream; `props` are the configuration key it uses. */
  stream(sql: string, props?: Record<string, unknown>): void;
  /** Defines and starts a rule. */
  run(id: string, sql: string, actions: Action[], options?: Partial<RuleOptions>): void;
  /** Waits until the rule is in the state. */
  reach(id: string, state: RuleState, ms?: number): Promise<RuleStatus>;
  /** Waits until a figure of the status fits. */
  figure(id: string, name: string, fits: (value: number) => boolean, ms?: number): Promise<number>;
  close(): Promise<void>;
}

/** Restarts come soon, and always after the same time. */
const options: RuleOptions = {
  ...defaultOptions,
  restartStrategy: { attempts: 0, delayMs: 100, multiplier: 2, maxDelayMs: 1000, jitterFactor: 0 },
};

export function ruleOf(id: string, sql: string, actions: Action[], change: Partial<RuleOptions> = {}): RuleDefinition {
  return {
    id,
    name: id,
    sql,
    actions: actions.map(([type, props]) => ({ type, props })),
    options: { ...options, ...change },
    triggered: true,
  };
}

/**
 * As `openEngine`, with several data planes and a data folder.
 *
 * @param lookMs time between two looks at the loads, ms
 */
export function openDivided(count: number, lookMs?: number): TestEngine {
  return openEngine({ division: new Division(count, lookMs), folders: { data: temporaryFolder() } });
}

export function openEngine(change: Partial<EngineOptions> = {}): TestEngine {
  const streams = new Map<string, StreamDefinition>();
  const keys = new Map<string, Record<string, unknown>>();
  const catalog: Catalog = {
    source: (name) => streams.get(name),
    confKey: (_source, key) => keys.get(key),
    connection: () => undefined,
  };
  const engine = createEngine({ catalog, log: silent, flushTimeoutMs: 2000, ...change });
  return {
    engine,
    stream: (sql, props) => {
      const statement = parseStatement(sql);
      if (statement.kind !== 'create') throw new Error(`no CREATE: ${sql}`);
      const key = statement.options.CONF_KEY;
      if (key !== undefined && props !== undefined) keys.set(key, props);
      streams.set(statement.name, defineSource(statement));
    },
    run: (id, sql, actions, ruleOptions) => {
      engine.define(ruleOf(id, sql, actions, ruleOptions));
      engine.start(id);
    },
    reach: async (id, state, ms = 60_000) => {
      await eventually(
        `state ${state} of ${id}`,
        async () => {
          const now = engine.state(id);
          if (now !== state && state !== 'stopped by error' && now === 'stopped by error') {
            throw new Error(`rule ${id}: ${(await engine.status(id)).message}`);
          }
          return now === state;
        },
        ms,
      );
      return engine.status(id);
    },
    figure: (id, name, fits, ms = 60_000) =>
      eventually(
        `${name} of ${id}`,
        async () => {
          const { metrics, status, message } = await engine.status(id);
          if (status === 'stopped by error') throw new Error(`rule ${id}: ${message}`);
          const value = Number(metrics[name] ?? Number.NaN);
          return fits(value) ? value : undefined;
        },
        ms,
      ),
    close: () => engine.close(2000),
  };
}
