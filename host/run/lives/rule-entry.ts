/** The entry of a rule in the control plane: its definition, its state and figures of its runs. */
import type { RulePlan } from '../../../kernels/plan/ir.js';
import type { LogBranch } from '../../base/log/log-tree.js';
import { nothingSecret, type Redact } from '../../base/secrets/redact.js';
import type { Timer } from '../../base/time/clock.js';
import type { RuleDefinition, RuleState } from '../../model/engine.js';
import type { FailedRow, Metrics, TableRow } from '../../model/figures.js';
import type { KeptOperator } from '../../model/kept.js';
import type { TraceStrategy } from '../../model/traces.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { OwnConnection } from '../props/connection-uses.js';
import type { Schedule } from './schedule.js';

/** Rows of the scan tables of a rule; none while it does not run. */
export async function tableRowsOf({ run, plane, state }: Entry): Promise<TableRow[]> {
  return (state === 'running' ? await plane?.ask('tableRows', run) : undefined) ?? [];
}

/** The last rows at which operators of a rule failed; none while it does not run. */
export async function failedRowsOf({ run, plane, state, startedAt }: Entry): Promise<FailedRow[]> {
  return (state === 'running' ? await plane?.ask('failedRows', run, startedAt) : undefined) ?? [];
}

/** Begin of the names of rules among all that is placed in data planes. */
export const unitPrefix = 'rule ';

/** Name of a rule among all that is placed in data planes. */
export function unitOf(id: string): string {
  return unitPrefix + id;
}

export const noMetrics: Metrics = {};
const none: readonly never[] = [];

export interface Entry {
  definition: RuleDefinition;
  /** Definition of the last run, also of one before the server's start. */
  ran: RuleDefinition;
  sources: readonly string[];
  topology: RulePlan['topology'];
  /** Log of the rule's own while it runs, when its options ask for one. */
  log: LogBranch | undefined;
  /** Connections of the rule at its last start. */
  connections: readonly OwnConnection[];
  /** Masks the secrets that the connectors of the last start got. */
  redact: Redact;
  state: RuleState;
  message: string;
  /** Number of the last run; 0 before the first. */
  run: number;
  /** Data plane of the present or the last run. */
  plane: Supervisor | undefined;
  /** How far the rule is on its way to another data plane: its run ends, or its state waits for the next one. */
  move: 'leaves' | 'arrives' | undefined;
  startedAt: number;
  stoppedAt: number;
  nextStartAt: number;
  /** A former definition had checkpoints. */
  hadCheckpoints: boolean;
  /** Operators whose state the last run keeps over an update; undefined without such state. */
  kept: readonly KeptOperator[] | undefined;
  /** Text on how the last start went on from a checkpoint; empty when it did not. */
  restored: string;
  /** Faults of the sources when all had tried to connect; undefined before. */
  opening: readonly string[] | undefined;
  /** Number of restarts in a row after failures. */
  attempt: number;
  /** Figures of the last run that ended. */
  metrics: Metrics;
  /** Losses of the sinks at the last stop, a sentence each. */
  losses: readonly string[];
  timer: Timer | undefined;
  trace: TraceStrategy | undefined;
  schedule: Schedule | undefined;
  /** Next look at the schedule; set while the rule follows it. */
  patrol: Timer | undefined;
  /** Earliest restart of a run that ended early, epoch ms. */
  skipUntil: number;
  onEnd: readonly (() => void)[];
  /** Whether the last order to stop it was one to start it again. */
  comesBack: boolean;
}

/**
 * Makes the entry of a new rule. All properties are written out: copied from other objects they would cost each rule a
 * table of names of its own, 830 bytes.
 */
export function entryOf(defined: Pick<Entry, 'definition' | 'sources' | 'topology' | 'schedule'>): Entry {
  return {
    definition: defined.definition,
    ran: defined.definition,
    sources: defined.sources,
    topology: defined.topology,
    state: 'stopped',
    message: '',
    run: 0,
    plane: undefined,
    move: undefined,
    startedAt: 0,
    stoppedAt: 0,
    nextStartAt: 0,
    opening: undefined,
    restored: '',
    hadCheckpoints: false,
    kept: undefined,
    attempt: 0,
    log: undefined,
    connections: none,
    redact: nothingSecret,
    metrics: noMetrics,
    losses: none,
    timer: undefined,
    trace: defined.definition.options.enableRuleTracer ? 'always' : undefined,
    schedule: defined.schedule,
    patrol: undefined,
    skipUntil: 0,
    onEnd: none,
    comesBack: false,
  };
}
