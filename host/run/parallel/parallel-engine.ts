/**
 * An engine in front of another, which divides rules with the option `parallelism`. The other one knows the rule as the
 * user wrote it, which it never starts, and those that it consists of, which nobody else sees.
 */

import type { CommonCheckpoints } from '../../model/common-state.js';
import type { Engine, Preparing, RuleDefinition, RuleStatus, RuleSummary } from '../../model/engine.js';
import type { FailedRow, RuleTraffic } from '../../model/figures.js';
import { overlaid } from '../../model/overlaid.js';
import { dividedRoots } from '../../plan/statement/divided.js';
import { setDividing } from '../../plan/statement/late-divided.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { endText } from '../lives/rule-lives.js';
import { parallelErrors } from './errors.js';
import { isKept } from './kept.js';
import { ParallelRule } from './parallel-rule.js';
import { type Shape, shapeOf } from './shape.js';
import { divisionOf, ownerOf, splitOf } from './split.js';
import { addedLatencies, summed } from './summed.js';

type Traffic = Awaited<ReturnType<NonNullable<Engine['traffic']>>>;
type Latencies = Awaited<ReturnType<NonNullable<Engine['latencies']>>>;
const noTraffic: RuleTraffic = [0, 0, 0];
const undivided = 'nothing';

type SourceOf = (name: string) => StreamDefinition | undefined;

/** The rule that a user knows. */
const wholeOf = (id: string): string => ownerOf(id) ?? id;
/** Operators are named as in the status: `source_s`, `op_2_filter`, `op_mqtt_0_0_transform`, `sink_mqtt_0`. */
const kindOf = (name: string): string => (name.endsWith('_transform') ? 'sink' : name.slice(0, name.indexOf('_')));

class ParallelRules {
  readonly #rules = new Map<string, ParallelRule>();
  /** Rules that an update does not divide any more: what they consist of runs until their next order. */
  readonly #former = new Map<string, ParallelRule>();
  readonly #awaited = new Map<string, Set<() => void>>();
  readonly engine: Engine;

  constructor(
    private readonly inner: Engine,
    private readonly source: SourceOf,
    private readonly isNode: boolean,
  ) {
    const { inner: engine } = this;
    this.#listenTo(engine.common);
    this.engine = overlaid(engine, {
      check: (rule) => this.#check(rule),
      define: (rule) => this.#define(rule),
      explain: (rule, how) => this.#explain(rule, how),
      start: (id) =>
        this.#of(
          id,
          (own) => own.start(),
          () => engine.start(id),
        ),
      stop: (id) =>
        this.#of(
          id,
          (own) => this.#stop(own),
          () => this.#afterFormer(id, () => engine.stop(id)),
        ),
      restart: (id) =>
        this.#of(
          id,
          (own) => this.#restart(own),
          () => this.#afterFormer(id, () => engine.restart(id)),
        ),
      remove: (id) => this.#remove(id),
      state: (id) =>
        this.#of(
          id,
          (own) => own.state,
          () => engine.state(id),
        ),
      opening: (id) =>
        this.#of(
          id,
          (own) => openingOf(own, engine),
          () => engine.opening(id),
        ),
      onNews: (id, call) => this.#onNews(id, call),
      status: (id) =>
        this.#of(
          id,
          (own) => this.#statusOf(own),
          () => engine.status(id),
        ),
      summaries: () => this.#summaries(),
      usersOf: (stream, also) => [...new Set(engine.usersOf(stream, also).map((id) => ownerOf(id) ?? id))],
      cpuTimes: async () =>
        summed(await engine.cpuTimes(), wholeOf, (one, other) => ({ ...one, cpuUs: one.cpuUs + other.cpuUs })),
      ...(engine.memory && {
        memory: async () =>
          summed((await engine.memory?.()) ?? [], wholeOf, (a, b) => ({ ...a, bytes: a.bytes + b.bytes })),
      }),
      ...(engine.latencies && { latencies: async () => this.#latenciesOf((await engine.latencies?.()) ?? []) }),
      // Their status has the figures of divided rules.
      figures: async (ids) => (await engine.figures?.(ids.filter((id) => !this.#rules.has(id)))) ?? [],
      traffic: async () => this.#trafficOf((await engine.traffic?.()) ?? []),
      connectionUses: () => engine.connectionUses().map((use) => ({ ...use, rule: ownerOf(use.rule) ?? use.rule })),
      resetSource: (id, ...rest) =>
        this.#of(
          id,
          ({ split }) => engine.resetSource(split.readers.get(rest[0]) ?? id, ...rest),
          () => engine.resetSource(id, ...rest),
        ),
      setTrace: (id, ...rest) =>
        this.#of(
          id,
          () => Promise.reject(parallelErrors.traced(id)),
          () => engine.setTrace(id, ...rest),
        ),
      failedRows: (id) => this.#failedRowsOf(id),
      close: (timeoutMs) => this.#close(timeoutMs),
    });
  }

  #listenTo(common: CommonCheckpoints | undefined): void {
    if (common === undefined) return;
    common.onNews = (id, news) => {
      const owner = ownerOf(id) ?? id;
      (this.#rules.get(owner) ?? this.#former.get(owner))?.noticed(id, news);
    };
  }

  #check(rule: RuleDefinition): ReturnType<Engine['check']> {
    const found = this.inner.check(rule);
    this.#checkedShapeOf(rule);
    return found;
  }

  async #close(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    const all = [...this.#rules.values(), ...this.#former.values()];
    await Promise.all(all.map((own) => own.close(timeoutMs / 2)));
    await this.inner.close(Math.max(0, end - performance.now()));
  }

  #of<T>(id: string, divided: (own: ParallelRule) => T, whole: () => T): T {
    const own = this.#rules.get(id);
    return own === undefined ? whole() : divided(own);
  }

  /** How the rule can be divided; undefined when it is not to be. */
  #shapeOf(rule: RuleDefinition): Shape | undefined {
    const isDivided = rule.options.parallelism > 1 && rule.test === undefined;
    const shape = isDivided ? shapeOf(rule, this.source) : undefined;
    if (shape !== undefined && isKept(rule) && this.isNode)
      throw parallelErrors.refused('on a node of a cluster the state of parts is not kept: qos has to be 0');
    return shape;
  }

  /** As `#shapeOf`; throws when an update would divide the rows otherwise than the state that is kept. */
  #checkedShapeOf(rule: RuleDefinition): Shape | undefined {
    const shape = this.#shapeOf(rule);
    const former = this.#rules.get(rule.id);
    if (!isKept(rule) || (former === undefined && this.inner.common?.isKept(rule.id) !== true)) return shape;
    const before = former === undefined ? undivided : former.split.output.common?.by;
    const now = shape === undefined ? undivided : divisionOf(rule, shape);
    if (before !== undefined && before !== now) throw parallelErrors.kept(rule.id, before, now);
    return shape;
  }

  #define(rule: RuleDefinition): readonly string[] {
    const { inner } = this;
    const former = this.#rules.get(rule.id) ?? this.#former.get(rule.id);
    const shape = this.#checkedShapeOf(rule);
    const warnings = inner.define(rule);
    if (shape === undefined) {
      this.#rules.delete(rule.id);
      if (former !== undefined) this.#former.set(rule.id, former);
      return warnings;
    }
    const fields = shape.inputs.map(({ stream }) => unique(inner.fieldsRead(rule.id, stream.name)));
    const splitAt = (start: number) => splitOf(rule, shape, fields, start);
    const own = former ?? new ParallelRule(inner, rule, splitAt, () => this.#tell(rule.id));
    own.divide(rule, splitAt);
    for (const one of own.rules) inner.define(one);
    this.#former.delete(rule.id);
    this.#rules.set(rule.id, own);
    return warnings;
  }

  /** Carries out an order for a rule that is not divided; what it consisted of until an update ends before. */
  async #afterFormer(id: string, step: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const former = this.#former.get(id);
    if (former === undefined) return step();
    const losses = await former.stop();
    this.#former.delete(id);
    await Promise.all(former.rules.map((rule) => this.inner.remove(rule.id)));
    return [...losses, ...(await step())];
  }

  async #remove(id: string): Promise<readonly string[]> {
    const own = this.#rules.get(id);
    if (own === undefined) return this.#afterFormer(id, () => this.inner.remove(id));
    const losses = await own.stop();
    this.#rules.delete(id);
    await Promise.all(own.rules.map((rule) => this.inner.remove(rule.id)));
    return [...losses, ...(await this.inner.remove(id))];
  }

  /** Before an update that divides it the rule may have run in one piece. */
  async #stop(own: ParallelRule, comesBack = false): Promise<readonly string[]> {
    own.comesBack = comesBack;
    return [...(await own.stop()), ...(await this.inner.stop(own.definition.id))];
  }

  async #restart(own: ParallelRule): Promise<readonly string[]> {
    const losses = await this.#stop(own, true);
    if (own.comesBack) own.start();
    return losses;
  }

  /** A divided rule has taken what its feeders have, and sent what its output has. */
  #trafficOf(found: Traffic): Traffic {
    const all = new Map(found.map(({ id, traffic }) => [id, traffic]));
    const of = ({ id }: RuleDefinition) => all.get(id) ?? noTraffic;
    const divided = [...this.#rules].flatMap(([id, { split, startedAt, rules }]) => {
      if (!rules.some((rule) => all.has(rule.id))) return [];
      const failed = rules.reduce((sum, rule) => sum + of(rule)[2], 0);
      const taken = split.feeders.reduce((sum, rule) => sum + of(rule)[0], 0);
      return [{ id, startedAt, traffic: [taken, of(split.output)[1], failed] as const }];
    });
    return [...found.filter(({ id }) => ownerOf(id) === undefined), ...divided];
  }

  /** Sources are those of the feeders, sinks those of the output. */
  #latenciesOf(found: Latencies): Latencies {
    const isOwn = (id: string, kind: string) => {
      const split = this.#rules.get(ownerOf(id) ?? '')?.split;
      if (split === undefined) return true;
      if (kind === 'source') return split.feeders.some((feeder) => feeder.id === id);
      return kind === 'sink' ? id === split.output.id : split.parts.some((part) => part.id === id);
    };
    const own = found.map(({ operators, io, caches, ...one }) => ({
      ...one,
      operators: operators.filter(([name]) => isOwn(one.id, kindOf(name))),
      io: io.filter((exchange) => isOwn(one.id, exchange.io)),
      ...(caches === undefined ? {} : { caches }),
    }));
    return summed(own, wholeOf, addedLatencies);
  }

  #onNews(id: string, call: () => void): () => void {
    if (!this.#rules.has(id)) return this.inner.onNews?.(id, call) ?? (() => {});
    const calls = this.#awaited.get(id) ?? new Set();
    this.#awaited.set(id, calls.add(call));
    return () => void calls.delete(call);
  }

  #tell(id: string): void {
    const calls = this.#awaited.get(id);
    this.#awaited.delete(id);
    for (const call of calls ?? []) call();
  }

  async #explain(rule: RuleDefinition, how?: Preparing): Promise<string> {
    const lines = await this.inner.explain(rule, how);
    const shape = this.#shapeOf(rule);
    if (shape === undefined) return lines;
    const { parallelism, isEventTime } = rule.options;
    const state = isKept(rule) ? ['markers go with the rows: the states of all parts are of one instant'] : [];
    const because = [...becauseOf(shape, isEventTime), ...state];
    const note = { op: 'Note', of: 'rule', parallelism, by: namesOf(shape).join(', '), because };
    return [lines, JSON.stringify(note)].join('\n');
  }

  async #statusOf(own: ParallelRule): Promise<RuleStatus> {
    const { split, state, message } = own;
    const statusOf = (rule: RuleDefinition) => this.inner.status(rule.id);
    const [output, feeders, parts] = await Promise.all([
      statusOf(split.output),
      Promise.all(split.feeders.map(statusOf)),
      Promise.all(split.parts.map(statusOf)),
    ]);
    const hasEnded = feeders.every(({ ended }) => ended !== undefined);
    const planes = [...new Set(parts.flatMap(({ dataPlane }) => dataPlane ?? []))].sort((a, b) => a - b);
    const ofParts = parts.flatMap(({ dataPlane, metrics }, i) => [
      ...(dataPlane === undefined ? [] : [[`part_${i}_data_plane`, dataPlane] as const]),
      [`part_${i}_records_in_total`, Number(metrics.sourceRecordsInTotal ?? 0)] as const,
      [`part_${i}_records_out_total`, Number(metrics.sinkRecordsOutTotal ?? 0)] as const,
    ]);
    const all = [...feeders, ...parts, output];
    const exceptionsTotal = all.reduce((sum, { metrics }) => sum + Number(metrics.exceptionsTotal ?? 0), 0);
    return {
      ...output,
      status: state,
      message,
      lastStartTimestamp: own.startedAt,
      lastStopTimestamp: own.stoppedAt,
      nextStartTimestamp: own.nextStartAt,
      ...(state === 'stopped' && hasEnded ? { ended: endText(split.streams) } : {}),
      dataPlaneBecause: `its rows are divided by key among ${parts.length} parts, in data planes ${planes.join(', ')}`,
      metrics: Object.fromEntries([
        ...readFigures(feeders),
        ...Object.entries(output.metrics).filter(([name]) => !isOfSource(name)),
        ...ofParts,
        ...tableFigures(parts),
        ['exceptionsTotal', exceptionsTotal],
        ...checkpointFigures(all),
      ]),
      troubles: [...new Set(all.flatMap(({ troubles }) => troubles))],
    };
  }

  async #failedRowsOf(id: string): Promise<FailedRow[]> {
    const own = this.#rules.get(id);
    if (own === undefined) return (await this.inner.failedRows?.(id)) ?? [];
    const rows = await Promise.all(own.rules.map(({ id }) => this.inner.failedRows?.(id) ?? []));
    return rows.flat().sort((one, other) => other.at - one.at);
  }

  async #summaries(): Promise<RuleSummary[]> {
    const found = await this.inner.summaries();
    const parts = new Map<string, RuleSummary[]>();
    for (const one of found) {
      const owner = ownerOf(one.id);
      if (owner !== undefined) parts.set(owner, [...(parts.get(owner) ?? []), one]);
    }
    return found.flatMap((one) => {
      if (ownerOf(one.id) !== undefined) return [];
      const own = this.#rules.get(one.id);
      return own === undefined ? [one] : [summaryOf(one, own, parts.get(one.id) ?? [])];
    });
  }
}

/** The engine with rules that are divided among several data planes. A node of a cluster keeps no state of its own. */
export function withParallelRules(engine: Engine, source: SourceOf, isNode = false): Engine {
  setDividing(dividedRoots);
  return new ParallelRules(engine, source, isNode).engine;
}

function openingOf({ state, split }: ParallelRule, engine: Engine): readonly string[] | undefined {
  return state === 'starting' ? undefined : engine.opening(split.feeders[0]!.id);
}

function unique(names: readonly string[] | undefined): string[] | undefined {
  return names && [...new Set(names)];
}

/** Keys by which rows are divided, as they are to be read. */
function namesOf({ inputs }: Shape): string[] {
  return inputs.map(({ stream, key }) => (inputs.length === 1 ? key.name : `${stream.name}.${key.name}`));
}

function becauseOf(shape: Shape, isEventTime: boolean): string[] {
  const { inputs, select, tables } = shape;
  const ofGroups =
    select.window === null ? 'functions that look back are partitioned by it' : 'groups are of one value of it';
  const ofOne = tables.length > 0 && select.groupBy.length === 0 ? 'each is looked up by itself' : ofGroups;
  const way = inputs.length === 1 ? ofOne : 'rows are joined that have equal ones';
  const byClock = select.window === null ? [] : ['windows end by the clock of each part'];
  return [
    `rows go to parts by ${namesOf(shape).join(' and ')}: ${way}`,
    ...(isEventTime ? ['all parts get the watermark of the whole, between their rows'] : byClock),
    ...tables.map((name) => `each part asks table ${name} for its rows`),
  ];
}

function summaryOf(one: RuleSummary, { state, message }: ParallelRule, parts: readonly RuleSummary[]): RuleSummary {
  const failed = parts.find(({ lastException }) => lastException !== '');
  const isFailed = state === 'stopped by error';
  return {
    ...one,
    status: state,
    lastException: isFailed ? message : (failed?.lastException ?? ''),
    exceptionsTotal: parts.reduce((sum, { exceptionsTotal }) => sum + exceptionsTotal, 0),
    troubles: isFailed ? [message] : [...new Set(parts.flatMap(({ troubles }) => troubles))],
  };
}

const isOfSource = (name: string) => name.startsWith('source');

/** Figures of the sources, which several feeders may have. */
function readFigures(feeders: readonly RuleStatus[]): [name: string, value: number | string][] {
  const all = new Map<string, number | string>();
  for (const [name, value] of feeders.flatMap(({ metrics }) => Object.entries(metrics))) {
    const known = all.get(name);
    // Totals of all sources; others have the name of their source.
    if (isOfSource(name)) all.set(name, typeof known === 'number' ? known + Number(value) : value);
  }
  return [...all];
}

const asked = '_lookup_asked_total';

/** Counts of the tables that are asked, which each part asks by itself. */
function tableFigures(parts: readonly RuleStatus[]): [name: string, value: number][] {
  const sums = new Map<string, number>();
  for (const { metrics } of parts) {
    const tables = Object.keys(metrics).flatMap((name) => (name.endsWith(asked) ? name.slice(0, -asked.length) : []));
    for (const [name, value] of Object.entries(metrics)) {
      const isCount = name.endsWith('_total') || name.endsWith('_buffer_length');
      if (!isCount || !tables.some((table) => name.startsWith(`${table}_`))) continue;
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
  }
  return [...sums];
}

/** Figures of the common checkpoints: the state of all, and the longest times. */
function checkpointFigures(all: readonly RuleStatus[]): [name: string, value: number | string][] {
  if (all.every(({ metrics }) => metrics.checkpointsTotal === undefined)) return [];
  const of = (name: string) => all.map(({ metrics }) => Number(metrics[name] ?? 0));
  const sums = ['stateBytes', 'lastCheckpointBytes', 'lastCheckpointWrittenBytes'];
  const highest = ['lastCheckpointPauseMs', 'lastCheckpointMs', 'checkpointFailing'];
  const failure = all.map(({ metrics }) => String(metrics.lastCheckpointFailure ?? '')).find((text) => text !== '');
  return [
    ...sums.map((name): [string, number] => [name, of(name).reduce((sum, value) => sum + value, 0)]),
    ...highest.map((name): [string, number] => [name, Math.max(...of(name))]),
    ['lastCheckpointFailure', failure ?? ''],
  ];
}
