/** From the logical plan to the nodes of the kernel: operands, registers, columns of batches. */
import type { NodePlan, Operand } from '../../kernels/ir.js';
import { col } from '../../kernels/ir.js';
import type { RuleDefinition } from '../model/engine.js';
import { analyticNode, hitSteps, hitsNode, toldBy } from './analytic-node.js';
import { callNode } from './call.js';
import { deriveNode } from './derive-node.js';
import { encodeNode, type Output, outputsOf, shapeValues } from './encode.js';
import { expandNode } from './expand-node.js';
import { filterNode } from './filter-node.js';
import { isOfStreams, readBy } from './join.js';
import { joinNode, mergeBranch, mergeTime, portNode } from './join-node.js';
import {
  hasWatermark,
  inputsOf,
  isOfMerge,
  isOfMessages,
  type Logical,
  levelOf,
  operatorsOf,
  type Root,
} from './logical.js';
import { lookedBackIn } from './looking-back.js';
import { planTable } from './lookup.js';
import { lookupNode } from './lookup-node.js';
import type { AskedFunction, Chain, Physical, Step } from './physical-plan.js';
import { Path, ProgramBuilder } from './program.js';
import { Readers } from './readers.js';
import { neededColumns } from './rules/prune-columns.js';
import { sortNode } from './sort-node.js';
import type { Relation, Source } from './source.js';
import { type TimedJoin, timedJoinNode } from './timed-join-node.js';
import type { AggregateValue, ColumnValue, Value, Values } from './value.js';
import { waitingNode } from './waiting-node.js';
import { watermarkNode } from './watermark-node.js';
import { collectingWindow, windowNeeds, windowPlan } from './window-needs.js';
import { windowNode } from './window-node.js';

/** Turns a plan into nodes. Throws `plan` errors for what the kernel has no room for, `sink` errors for properties of sinks. */
export function lower(
  roots: readonly Root[],
  rule: RuleDefinition,
  values: Values,
  sources: readonly Source[],
): Physical {
  const outputs = roots.map((root) => outputsOf(root, rule, values));
  const outputValues = new Map(roots.map(({ node }, i) => [node, outputs[i]!.flatMap(shapeValues)]));
  const { columns, uses } = neededColumns(operatorsOf(roots), [...outputValues.values()].flat(), sources.length);
  const lowering = new Lowering(rule, columns, values, new Readers(roots, outputValues));
  for (const [i, root] of roots.entries()) lowering.addRoot(root, outputs[i]!);
  return {
    columns,
    uses,
    read: uses.map((needed, i) => lowering.tables.get(i)?.columns.map(({ use }) => use) ?? needed),
    asked: lowering.asked,
    nodes: lowering.nodes,
    chains: lowering.chains,
    labelled: lowering.labelled,
    encoders: lowering.encoders,
    rows: lowering.rows,
  };
}

class Lowering {
  readonly nodes: NodePlan[] = [];
  readonly chains: Chain[] = [];
  private steps: Step[] = [];
  readonly labelled = new Map<string, number[]>();
  readonly encoders: number[][] = [];
  readonly rows = new Map<number, readonly (Value | null)[]>();
  /** Tables in which rows are looked up, by their sources: the columns that they keep and their nodes. */
  readonly tables = new Map<number, { columns: ColumnValue[]; node: number }>();
  /** Tables and functions that are asked. */
  readonly asked: (Source | AskedFunction)[] = [];
  private path: Path;
  /** Where the rows of operators are that have their nodes already. */
  private readonly places = new Map<Logical, Path>();
  /** Values that operators compute for those above them. */
  private readonly held = new Set<Value>();
  /** Sources whose branches bring computed values to a merge. */
  private readonly owners = new Map<Value, number>();
  private labels: readonly string[] = [];

  constructor(
    private readonly rule: RuleDefinition,
    private readonly columns: readonly (readonly ColumnValue[])[],
    private readonly values: Values,
    private readonly readers: Readers,
  ) {
    this.path = Path.ofSource(0, []);
  }

  /** Adds what gives the rows of a root, and an encode node for each of its outputs. */
  addRoot({ node: root, actions }: Root, outputs: readonly Output[]): void {
    this.steps = [];
    const from = this.branchingOff(root.input);
    const chain = { steps: this.steps, actions };
    this.chains.push(from === undefined ? { ...chain, sources: readBy(root) } : { ...chain, sources: [], from });
    this.place(root.input);
    const encoders: number[] = [];
    for (const output of outputs) {
      const path = this.path.branch();
      let { input } = path;
      if (output.spec.isFirstRowOnly) {
        input = { node: this.nodes.length };
        this.nodes.push({ kind: 'limit', input: path.input, count: 1, name: 'limit' });
      }
      for (const action of output.actions) {
        this.encoders[action] ??= [];
        this.encoders[action].push(this.nodes.length);
      }
      encoders.push(this.nodes.length);
      this.nodes.push(encodeNode(output, path, input));
    }
    const kind = root.row.set === undefined ? 'project' : 'projectset';
    this.steps.push({ kind, nodes: encoders.slice(0, 1) });
  }

  /** The node behind which late rows leave a way that is there already. */
  private branchingOff(node: Logical): number | undefined {
    const input = node.kind === 'late' ? this.places.get(node.input)?.input : undefined;
    return input !== undefined && 'node' in input ? input.node : undefined;
  }

  /** Adds the nodes of an operator and of those below it, unless they are there, and goes to the place of its rows. */
  private place(node: Logical): void {
    const known = this.places.get(node);
    if (known === undefined) {
      if (node.kind !== 'merge') for (const input of inputsOf(node)) this.place(input);
      this.labels = node.labels ?? [];
      this.add(node);
      this.places.set(node, this.path);
      const { input, columnValues } = this.path;
      if (input !== null && 'node' in input) this.rows.set(input.node, columnValues);
    }
    if (known !== undefined) this.path = known;
    // Operators side by side don't see each other's registers.
    if (this.readers.isShared(node)) this.path = this.path.branch();
  }

  private add(node: Logical): void {
    switch (node.kind) {
      case 'source': {
        const { index } = node.source;
        this.path = Path.ofSource(index, this.columns[index] ?? []);
        return;
      }
      case 'project':
        return;
      case 'watermark':
        this.addWatermark(node);
        return;
      case 'late':
        this.addLate(node);
        return;
      case 'filter':
        this.addFilter(node);
        return;
      case 'derive':
        this.addDerive(node);
        return;
      case 'compute':
        this.addCompute(node);
        return;
      case 'analytic':
        this.addAnalytic(node);
        return;
      case 'hits':
        this.addHits(node);
        return;
      case 'merge':
        this.addMerge(node);
        return;
      case 'join':
        this.addJoin(node);
        return;
      case 'asof':
      case 'interval':
        this.addTimedJoin(node);
        return;
      case 'lookup':
        this.addLookup(node);
        return;
      case 'delay':
      case 'dedup':
        this.addWaiting(node);
        return;
      case 'call':
        this.addCall(node);
        return;
      case 'window':
        if (this.readers.isJoined(node)) this.addCollectingWindow(node);
        else this.addWindow(node);
        return;
      case 'sort':
        this.addSort(node);
        return;
      case 'expand':
        this.addExpand(node);
        return;
      case 'limit':
        this.push({ kind: 'limit', input: this.path.input, count: node.count, name: 'limit' }, null);
        return;
      default:
        node satisfies never;
    }
  }

  private addWatermark(node: Extract<Logical, { kind: 'watermark' }>): void {
    const isAwaited = node.input.kind === 'merge' || this.readers.isMerged(node);
    const plan = watermarkNode(node, this.path, this.rule.options, isAwaited);
    this.pushNew(plan, 'watermark', this.path.columnValues);
  }

  /** What the watermark below hands on has two columns more. */
  private addLate({ branch }: Extract<Logical, { kind: 'late' }>): void {
    const { input, columnValues } = this.path;
    const columns = [...columnValues, this.values.late('time'), this.values.late('by')];
    this.pushNew({ kind: 'late', input, branch, name: 'late' }, 'late', columns);
  }

  private addFilter(node: Extract<Logical, { kind: 'filter' }>): void {
    this.push(...filterNode(node, this.path));
  }

  private addSort(node: Extract<Logical, { kind: 'sort' }>): void {
    const plan = sortNode(node, this.path);
    if (plan === null) return;
    if (!isOfMessages(node)) {
      this.push(plan, 'order');
      return;
    }
    const { columnValues } = this.path;
    const isOwn = (value: Value): boolean => this.isHeld(value) && !columnValues.includes(value);
    const above = windowNeeds(this.readers.valuesAbove(node), isNone, (value) => this.isHeld(value));
    const carried = above.keep.filter(isOwn);
    const operands = carried.map((value) => this.operandOf(value));
    this.pushNew(carried.length > 0 ? { ...plan, carried: operands } : plan, 'order', [...columnValues, ...carried]);
  }

  /** Passes all rows; what it computes stands in registers for the nodes below. */
  private addCompute({ values }: Extract<Logical, { kind: 'compute' }>): void {
    const builder = new ProgramBuilder(this.path);
    for (const value of values) {
      builder.operand(value);
      if (value.kind === 'op') this.held.add(value);
    }
    const condition = builder.operand(this.values.constant({ tag: 'bool', value: true }));
    const { input } = this.path;
    const program = builder.finish();
    this.push({ kind: 'filter', input, program, condition, keepsEmpty: true, name: 'compute' }, null);
  }

  /** What stands above sees the columns of the derived table and nothing of what they are made of. */
  private addDerive({ columns }: Extract<Logical, { kind: 'derive' }>): void {
    const { plan, operands } = deriveNode(columns, this.path, this.values);
    for (const column of columns.keys()) this.held.add(column);
    if (plan !== null) this.push(plan, null);
    this.path = this.path.withOnly(operands);
  }

  /** Passes all rows; what its functions give depends on the rows before. */
  private addAnalytic({ values }: Extract<Logical, { kind: 'analytic' }>): void {
    for (const value of values) this.held.add(value);
    this.push(analyticNode(values, this.path, this.rule.options), 'analytic');
  }

  /** Passes rows as a filter does, and leaves what stood before each of them in two registers. */
  private addHits(node: Extract<Logical, { kind: 'hits' }>): void {
    for (const value of toldBy(node)) this.held.add(value);
    const step = node.clause === null ? null : hitSteps[node.clause];
    this.push(hitsNode(node, this.path, step ?? 'hits'), step);
  }

  /** True for a value that an operator below has computed. */
  private isHeld(value: Value): boolean {
    return this.held.has(value) && this.path.find(value) !== undefined;
  }

  private addExpand(node: Extract<Logical, { kind: 'expand' }>): void {
    const { plan, columns } = expandNode(node, this.path, this.readers.valuesAbove(node));
    this.pushNew(plan, 'project', [...columns, this.values.item()]);
  }

  private addMerge(node: Extract<Logical, { kind: 'merge' }>): void {
    const { sources, inputs, timestamps } = node;
    const later = this.readers.valuesAbove(node);
    const read = new Set<Value>(windowNeeds(later, isNone, () => false).keep);
    const chains: Chain[] = [];
    const { labels, steps } = this;
    const paths = inputs.map((input, i) => {
      this.steps = [];
      chains.push({ sources: readBy(input), steps: this.steps });
      this.place(input);
      // The columns of a derived table may stand in registers. What nobody above reads, as most time stamps, stays below.
      const [bottom] = levelOf(input);
      const all = bottom?.kind === 'derive' ? [...bottom.columns.keys()] : this.path.columnValues;
      const columns = all.filter((value) => value?.kind !== 'column' || read.has(value));
      return { path: this.path, columns: [...columns, ...this.computedFor(sources[i]!, later)] };
    });
    this.labels = labels;
    const into = this.nodes.length;
    const ports = paths.map(({ path, columns }, branch) =>
      portNode(path, columns, into, branch, timestamps[branch] ?? null),
    );
    const branches = paths.map(({ columns }) => columns.length);
    this.steps = steps;
    this.record({ kind: 'merge', input: null, branches, name: 'merge' }, null);
    if (!isOfStreams(node)) this.steps.push({ kind: 'union', nodes: [into], inputs: chains });
    this.path = Path.ofMerge(
      into,
      [null, null, ...paths.flatMap(({ columns }) => columns)],
      paths.map(({ path }) => path),
    );
    this.nodes.push(...ports);
  }

  /** Values among `later` that were computed for the rows of this source, at whose place we are: they belong to it. */
  private computedFor({ index }: Relation, later: readonly Value[]): Value[] {
    const { keep } = windowNeeds(later, isNone, (value) => this.isHeld(value));
    const computed = keep.filter(({ kind }) => kind === 'op' || kind === 'analytic');
    for (const value of computed) this.owners.set(value, index);
    return computed;
  }

  /** The source that a column of a merge comes from. */
  private ownerOf(value: Value): number | undefined {
    return value.kind === 'column' ? value.source : this.owners.get(value);
  }

  /** The window below a join: keeps the number of the branch, if there are several, and all columns, then start, end and trigger. */
  private addCollectingWindow(node: Extract<Logical, { kind: 'window' }>): void {
    const { values } = this;
    const [bottom] = levelOf(node);
    const isMerged = bottom?.kind === 'merge';
    const above = this.readers.valuesAbove(node);
    // The columns of a derived table may stand in registers.
    const below = bottom?.kind === 'derive' ? [...bottom.columns.keys()] : this.path.columnValues;
    const columns = below.filter((value) => value !== null);
    const only = bottom?.kind === 'source' ? bottom.source : bottom?.kind === 'derive' ? bottom.table : null;
    const computed = only === null ? [] : this.computedFor(only, above);
    const ofStreams = isMerged ? this.ownedByStreams(above) : new Map<Value, Value>();
    const kept = [...columns, ...computed, ...ofStreams.keys()];
    const operands = [...columns, ...computed, ...ofStreams.values()].map((value) => this.operandOf(value));
    const builder = new ProgramBuilder(this.path);
    const window = windowPlan(node.window, (value) => builder.operand(value), this.rule.options.stateTtlMs);
    const isEventTime = node.window.kind !== 'message' && hasWatermark(node);
    const numbers = isMerged ? [null] : [];
    const time = !isEventTime ? null : isMerged ? col(mergeTime) : this.timeOperand(node.timestamp);
    const keep = [...numbers.map(() => col(mergeBranch)), ...operands];
    const plan = collectingWindow(this.path, builder.finishOrNull(), window, keep, time);
    const parts = [values.window('start'), values.window('end'), values.window('trigger')];
    this.pushNew(plan, node.window.kind === 'row' ? null : 'window', [...numbers, ...kept, ...parts]);
  }

  /** Event time of a row; a computed one is the column that the watermark below added. */
  private timeOperand(time: Value | null): Operand {
    return time?.kind === 'column' ? this.operandOf(time) : col(this.path.columns);
  }

  private addJoin(node: Extract<Logical, { kind: 'join' }>): void {
    const into = this.nodes.length;
    const { plan, path, tables } = joinNode(node, {
      index: into,
      path: this.path,
      columns: this.columns,
      ownerOf: (value) => this.ownerOf(value),
    });
    if (tables.length > 0) this.steps.push({ kind: 'join_aligner', nodes: [into] });
    this.record(plan, 'join');
    this.path = path;
    for (const { index, branch } of tables) {
      const columns = this.columns[index] ?? [];
      this.nodes.push(portNode(Path.ofSource(index, columns), columns, into, branch, null));
    }
  }

  private addTimedJoin(node: TimedJoin): void {
    // Keys are computed of rows as they come; nothing else needs the values that they are made of.
    const condition = node.kind === 'interval' ? node.condition : null;
    const above = [...this.readers.valuesAbove(node), ...(condition === null ? [] : [condition])];
    const ofStreams = this.ownedByStreams(above);
    const { keep } = windowNeeds(above, isNone, (value) => ofStreams.has(value) || this.isHeld(value));
    const kept = keep.flatMap((value) => {
      const operand = this.path.find(ofStreams.get(value) ?? value);
      return operand === undefined ? [] : [{ value, operand }];
    });
    const { plan, path } = timedJoinNode(node, {
      index: this.nodes.length,
      path: this.path,
      kept,
      ownerOf: (value) => this.ownerOf(value),
      ttlMs: this.rule.options.stateTtlMs,
      values: this.values,
    });
    this.record(plan, 'join');
    this.path = path;
  }

  /** What functions gave for the rows of one stream, by the values in which it is read: it belongs to those rows from here on. */
  private ownedByStreams(above: readonly Value[]): ReadonlyMap<Value, Value> {
    const found = lookedBackIn(above, (value) => this.isHeld(value));
    for (const { value, source } of found) {
      this.owners.set(value, source);
      this.held.add(value);
    }
    return new Map(found.map(({ value, of }) => [value, of]));
  }

  private addLookup(node: Extract<Logical, { kind: 'lookup' }>): void {
    const { source } = node;
    const table = this.tableOf(source);
    const index = this.nodes.length;
    const { plan, path } = lookupNode(node, {
      table,
      index,
      path: this.path,
      own: this.columns[source.index] ?? [],
      above: this.readers.valuesAbove(node),
      isHeld: (value) => this.isHeld(value),
    });
    this.record(plan, null);
    this.steps.push({ kind: 'lookup', nodes: [index], table: source.ownName });
    this.path = path;
  }

  private addWaiting(node: Extract<Logical, { kind: 'delay' | 'dedup' }>): void {
    const { plan, columns, step } = waitingNode(node, this.path, this.readers.valuesAbove(node), this.held);
    if (node.kind === 'dedup') this.held.add(node.ranges);
    this.pushNew(plan, step, columns);
  }

  private addCall(node: Extract<Logical, { kind: 'call' }>): void {
    const { call } = node;
    const { imm } = call;
    const known = this.asked.findIndex((one) => 'call' in one && one.call === imm);
    const at = known >= 0 ? known : this.asked.push({ call: imm }) - 1;
    const above = this.readers.valuesAbove(node);
    const { plan, carried } = callNode(call, at, this.path, above, (value) => this.isHeld(value));
    this.held.add(call);
    this.pushNew(plan, 'call', [...carried, call]);
  }

  /** The node of a lookup table; of one that is asked its place among these. */
  private tableOf(source: Source): number {
    if (source.isAsked) {
      const at = this.asked.indexOf(source);
      return at >= 0 ? at : this.asked.push(source) - 1;
    }
    const known = this.tables.get(source.index);
    if (known !== undefined) return known.node;
    const { columns, node } = planTable(source);
    this.tables.set(source.index, { columns, node: this.nodes.length });
    return this.nodes.push(node) - 1;
  }

  private addWindow(node: Extract<Logical, { kind: 'window' }>): void {
    const shown = node.shown ?? [];
    const isComputed = (aggregate: AggregateValue): boolean => node.isGrouped || shown.includes(aggregate);
    const needs = windowNeeds(this.readers.valuesAbove(node), isComputed, (value) => this.isHeld(value));
    const isEventTime = node.window.kind !== 'message' && hasWatermark(node);
    const { stateTtlMs: ttlMs } = this.rule.options;
    const time = isOfMerge(node) ? col(mergeTime) : this.timeOperand(node.timestamp);
    const { plan, columns } = windowNode(node, { path: this.path, needs, isEventTime, time, ttlMs });
    // A window above this one keeps them as it does columns.
    for (const aggregate of needs.aggregates) this.held.add(aggregate);
    const index = this.nodes.length;
    this.pushNew(plan, node.window.kind === 'row' || node.window.kind === 'message' ? null : 'window', columns);
    if (node.keys.length > 0) this.steps.push({ kind: 'aggregate', nodes: [index] });
  }

  private push(node: NodePlan, step: Step['kind'] | null): void {
    this.path = this.path.after(this.record(node, step));
  }

  private pushNew(node: NodePlan, step: Step['kind'] | null, columns: readonly (Value | null)[]): void {
    this.path = this.path.afterNew(this.record(node, step), columns);
  }

  private record(node: NodePlan, step: Step['kind'] | null): number {
    const index = this.nodes.length;
    this.nodes.push(node);
    for (const label of this.labels) this.labelled.set(label, [...(this.labelled.get(label) ?? []), index]);
    if (step === null) return index;
    const last = this.steps.at(-1);
    if (last?.kind === step) last.nodes.push(index);
    else this.steps.push({ kind: step, nodes: [index] });
    return index;
  }

  private operandOf(value: Value): Operand {
    const operand = this.path.find(value);
    if (operand === undefined) throw new Error(`value ${value.id} is not in the batch`);
    return operand;
  }
}

const isNone = (): boolean => false;
