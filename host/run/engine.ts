/** The engine put together: planner, rules, and the thread that runs them. */
import { join } from 'node:path';
import type { Kernel } from '../../kernels/api.js';
import { createKernel } from '../../kernels/index.js';
import type { RulePlan } from '../../kernels/plan/ir.js';
import type { Config } from '../base/config/config.js';
import type { Logger } from '../base/log/log.js';
import type { LogTree } from '../base/log/log-tree.js';
import { ownZone } from '../functions/calendar/time-zone.js';
import { callHost } from '../functions/registry.js';
import type { Catalog, Preparing, RuleDefinition, RuleOptions } from '../model/engine.js';
import { type Fold, planKeptTable, planRule, ruleTaps } from '../plan/index.js';
import type { RuleStates } from './link/shared-states.js';
import type { Division } from './planes/placement/division.js';
import { Supervisor } from './planes/supervisor.js';
import { PlansByForm } from './planning/plans-by-form.js';
import type { PlanningThread } from './planning/thread.js';
import { checkpointFolder, freeAccess, transactionFolder } from './props/access.js';
import { Rules } from './rules.js';

export interface EngineOptions {
  catalog: Catalog;
  log: Logger;
  /** Logs of single rules (options `debug` and `logFilename`); without it they have none. */
  logs?: LogTree;
  /** Rules with an option for it keep their state in `data`; without it none does. */
  folders?: { readonly data: string };
  /** Time zone (read again at each use) and times; defaults without it. */
  config?: Config;
  /** Longest pause between reads that gather the packets of fast senders, ms; 0 never pauses. */
  coalesceMs?: number;
  /** Time that a stopping rule waits for its sinks, ms. */
  flushTimeoutMs?: number;
  /** A data plane without a sign of life for so long is replaced, ms. */
  hangMs?: number;
  /** Bound of the memory in which all rules keep their state, bytes; 0 or nothing: 4 GiB. */
  maxMemoryBytes?: number;
  /** Divides the rules among several data planes; left out for one. */
  division?: Division | undefined;
  /** Longest value that functions may make, bytes; by default as `basic.maxValueBytes` says. */
  maxValueBytes?: number;
  /** Time up to which rules may work (link/fence.ts). */
  fence?: SharedArrayBuffer | undefined;
  /** Keeps the state of rules for other nodes of a cluster; left out on a server alone. */
  states?: RuleStates | undefined;
  /** Times all work of rules for histograms; by default as `basic.prometheus` says. */
  measuresAll?: boolean;
}

const defaultCoalesceMs = 1;
const defaultFlushTimeoutMs = 5000;
const defaultTraceCapacity = 2048;
const defaultPatrolMs = 10_000;
const defaultHangMs = 10_000;

/** Makes the engine. Its thread starts with the first rule. */
export function createEngine(options: EngineOptions): Rules {
  const { catalog, log } = options;
  const maxValueBytes = options.maxValueBytes ?? options.config?.basic.maxValueBytes;
  let folding: Kernel | undefined;
  // A kernel of its own on this thread computes constants, without streams; made when the first rule is planned.
  const fold: Fold = (program, result) => {
    const calls = { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: callHost };
    folding ??= createKernel(calls, undefined, { maxValueBytes });
    return folding.evaluate(program, result);
  };
  const zone = ({ timezone }: RuleOptions) => {
    const name = timezone === '' ? (options.config?.basic.timezone ?? 'UTC') : timezone;
    return name === '' || name === 'Local' ? ownZone() : name;
  };
  const zoned = (rule: RuleDefinition) => ({ ...rule, options: { ...rule.options, timezone: zone(rule.options) } });
  let thread: Promise<PlanningThread> | undefined;
  const started = (): Promise<PlanningThread> => {
    thread ??= import('./planning/thread.js').then(({ PlanningThread }) => new PlanningThread({ maxValueBytes }));
    return thread;
  };
  const forms = new PlansByForm((rule, seen) => planRule(zoned(rule), seen, fold), zone);
  const planner = {
    plan: (rule: RuleDefinition, seen: Catalog) => forms.plan(rule, seen),
    formOf: (plan: RulePlan) => forms.formOf(plan),
    explain: async (rule: RuleDefinition, seen: Catalog) =>
      (await import('../plan/explain-rule.js')).explainRule(zoned(rule), seen, fold),
    table: planKeptTable,
    taps: (rule: RuleDefinition, seen: Catalog) => ruleTaps(zoned(rule), seen, fold),
    elsewhere: {
      plan: async (rule: RuleDefinition, seen: Catalog, how: Preparing) =>
        (await started()).plan(zoned(rule), seen, how),
      explain: async (rule: RuleDefinition, seen: Catalog, how: Preparing) =>
        (await started()).explain(zoned(rule), seen, how),
      close: () => void thread?.then((one) => one.close()),
    },
  };
  return new Rules({
    catalog,
    planner,
    log,
    logs: options.logs,
    checkpoints: options.folders && join(options.folders.data, checkpointFolder),
    states: options.states,
    transactions: options.folders && join(options.folders.data, transactionFolder),
    zone,
    traceCapacity: options.config?.openTelemetry.localTraceCapacity ?? defaultTraceCapacity,
    patrolMs: options.config?.basic.rulePatrolInterval ?? defaultPatrolMs,
    division: options.division,
    makePlane: (listener, number) =>
      new Supervisor(listener, {
        log,
        number,
        planes: options.division?.count ?? 1,
        coalesceMs: options.coalesceMs ?? defaultCoalesceMs,
        maxReconnectMs: options.config?.basic.connection.maxReconnectInterval,
        maxSqlConnections: options.config?.basic.sql.maxConnections,
        flushTimeoutMs: options.flushTimeoutMs ?? defaultFlushTimeoutMs,
        hangMs: options.hangMs ?? defaultHangMs,
        maxMemoryBytes: options.maxMemoryBytes ?? 0,
        maxUserMemoryBytes: options.config?.plugin.maxMemoryBytes ?? 0,
        paths: (catalog.access ?? freeAccess).paths.rules,
        fence: options.fence,
        states: options.states,
        isPrivateNetOpen: options.config?.basic.enablePrivateNet ?? true,
        maxValueBytes,
        measuresAll: options.measuresAll ?? options.config?.basic.prometheus ?? false,
      }),
  });
}
