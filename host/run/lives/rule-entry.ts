/** What the control plane knows of a rule and its runs. */
import type { RulePlan } from '../../../kernels/plan/ir.js';
import type { LogBranch } from '../../base/log/log-tree.js';
import { nothingSecret, type Redact } from '../../base/secrets/redact.js';
import type { Timer } from '../../base/time/clock.js';
import type { RuleDefinition, RuleState } from '../../model/engine.js';
import type { Metrics } from '../../model/figures.js';
import type { KeptOperator } from '../../model/kept.js';
import type { TraceStrategy } from '../../model/traces.js';
import type { Supervisor } from '../planes/supervisor.js';
import type { OwnConnection } from '../props/connection-uses.js';
import type { Schedule } from './schedule.js';

const noMetrics: Metrics = {};
const noLosses: readonly string[] = [];

export interface Entry {
  definition: RuleDefinition;
  /** That of the last run, or of those that the server had before. */
  ran: RuleDefinition;
  sources: string[];
  topology: RulePlan['topology'];
  /** Its own log while it runs, when its options ask for one. */
  log: LogBranch | undefined;
  /** Connections that it had at its last start. */
  connections: readonly OwnConnection[];
  /** Masks the secrets that the connectors of the last start got. */
  redact: Redact;
  state: RuleState;
  message: string;
  /** 0 when it never ran. */
  run: number;
  /** Where the run is, or the last one was. */
  plane: Supervisor | undefined;
  startedAt: number;
  stoppedAt: number;
  nextStartAt: number;
  /** A former definition let it keep its state. */
  hadCheckpoints: boolean;
  /** What its last run keeps, where that goes over an update. */
  kept: readonly KeptOperator[] | undefined;
  /** How the last start went on from a checkpoint; empty when it did not. */
  restored: string;
  /** What was wrong with its sources when all had tried to connect; undefined before. */
  opening: readonly string[] | undefined;
  /** Restarts after failures in a row. */
  attempt: number;
  /** Figures of the last run that ended. */
  metrics: Metrics;
  /** What its sinks could not send any more when it was stopped last, a sentence each. */
  losses: readonly string[];
  timer: Timer | undefined;
  trace: TraceStrategy | undefined;
  schedule: Schedule | undefined;
  /** Next look at the schedule; set while the rule follows it. */
  patrol: Timer | undefined;
  /** Earliest restart of a run that ended early, epoch ms. */
  skipUntil: number;
  onEnd: (() => void)[];
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
    startedAt: 0,
    stoppedAt: 0,
    nextStartAt: 0,
    opening: undefined,
    restored: '',
    hadCheckpoints: false,
    kept: undefined,
    attempt: 0,
    log: undefined,
    connections: [],
    redact: nothingSecret,
    metrics: noMetrics,
    losses: noLosses,
    timer: undefined,
    trace: defined.definition.options.enableRuleTracer ? 'always' : undefined,
    schedule: defined.schedule,
    patrol: undefined,
    skipUntil: 0,
    onEnd: [],
  };
}
