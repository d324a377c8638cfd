/** From the logical plan to the nodes of the kernel: operands, registers, columns of windows, one encode node for each kind of sink. */
import type {
  AggregatePlan,
  JoinStep,
  NodeInput,
  NodePlan,
  Operand,
  OutputPlan,
  WindowPlan,
} from '../../kernels/ir.js';
import { col, NONE } from '../../kernels/ir.js';
import type { RuleDefinition } from '../run/api.js';
import { equalities, streamsOf, tablesOf } from './join.js';
import { chainOf, type Logical, type OutputRow, type WindowSpec } from './logical.js';
import { type OutputSpec, outputSpec } from './output.js';
import { Path, ProgramBuilder } from './program.js';
import { neededColumns } from './rules/prune-columns.js';
import { type SinkWishes, sinkWishes } from './sinks.js';
import { type AggregateValue, type ColumnValue, childrenOf, type Value, type Values } from './value.js';

/** A step of the topology and the nodes that do its work. */
export interface Step {
  kind:
    | 'watermark'
    | 'windowFilter'
    | 'filter'
    | 'window'
    | 'join_aligner'
    | 'join'
    | 'aggregate'
    | 'having'
    | 'order'
    | 'project';
  nodes: number[];
}

export interface Physical {
  columns: ColumnValue[][];
  nodes: NodePlan[];
  steps: Step[];
  /** Encode node of each action. */
  encoders: number[];
}

/** Columns that a merge node puts before those of its branches. */
const mergeBranch = 0;
const mergeTime = 1;

interface Output {
  spec: OutputSpec;
  wishes: SinkWishes;
  actions: number[];
}

/** Turns the optimised plan of a rule into nodes, one encode node for all actions with equal wishes. `sources` is their number. */
export function lower(
  root: Extract<Logical, { kind: 'project' }>,
  rule: RuleDefinition,
  values: Values,
  sources: number,
): Physical {
  const outputs = outputsOf(root.row, rule, values);
  const outputValues = outputs.flatMap(({ spec }) => shapeValues(spec));
  const chain = chainOf(root);
  const columns = neededColumns(root, outputValues, sources);
  const lowering = new Lowering(rule, columns, values);
  chain.forEach((node, i) => {
    lowering.add(node, chain.slice(i + 1), outputValues);
  });
  const encoders = lowering.addOutputs(outputs);
  return { columns, nodes: lowering.nodes, steps: lowering.steps, encoders };
}

class Lowering {
  readonly nodes: NodePlan[] = [];
  readonly steps: Step[] = [];
  private path: Path;

  constructor(
    private readonly rule: RuleDefinition,
    private readonly columns: readonly (readonly ColumnValue[])[],
    private readonly values: Values,
  ) {
    this.path = Path.ofSource(0, []);
  }

  /** @param above operators that read what this one gives out */
  add(node: Logical, above: readonly Logical[], outputValues: readonly Value[]): void {
    switch (node.kind) {
      case 'source': {
        const { index } = node.source;
        this.path = Path.ofSource(index, this.columns[index] ?? []);
        return;
      }
      case 'project':
        return;
      case 'watermark': {
        const builder = new ProgramBuilder(this.path);
        const timestamp = node.timestamp === null ? col(mergeTime) : builder.operand(node.timestamp);
        const program = builder.finishOrNull();
        const { lateToleranceMs } = this.rule.options;
        const { columns, columnValues } = this.path;
        this.pushNew(
          {
            kind: 'eventTime',
            input: this.path.input,
            ...(program === null ? {} : { program }),
            timestamp,
            lateToleranceMs,
            columns,
            name: 'watermark',
          },
          'watermark',
          columnValues,
        );
        return;
      }
      case 'filter': {
        const builder = new ProgramBuilder(this.path);
        const condition = builder.operand(node.condition);
        const step = node.clause === 'where' ? 'filter' : node.clause === 'filter' ? 'windowFilter' : 'having';
        const { input } = this.path;
        this.push({ kind: 'filter', input, program: builder.finish(), condition, name: step }, step);
        return;
      }
      case 'merge':
        this.addMerge(node);
        return;
      case 'join':
        this.addJoin(node);
        return;
      case 'window':
        if (above.some(({ kind }) => kind === 'join')) this.addCollectingWindow(node);
        else this.addWindow(node, [...above.flatMap(valuesAbove), ...outputValues]);
        return;
      case 'sort': {
        const builder = new ProgramBuilder(this.path);
        // A constant orders nothing.
        const keys = node.keys
          .filter(({ value }) => value.kind !== 'const')
          .map(({ value, descending }) => ({ operand: builder.operand(value), descending }));
        if (keys.length === 0) return;
        const { input, columns } = this.path;
        const program = builder.finishOrNull();
        this.pushNew({ kind: 'sort', input, program, keys, columns, name: 'order' }, 'order', this.path.columnValues);
        return;
      }
      case 'limit':
        this.push({ kind: 'limit', input: this.path.input, count: node.count, name: 'limit' }, null);
        return;
      default:
        node satisfies never;
    }
  }

  /** Adds an encode node for each kind of output and returns that of every action. */
  addOutputs(outputs: readonly Output[]): number[] {
    const encoders: number[] = [];
    for (const output of outputs) {
      const path = this.path.branch();
      let { input } = path;
      if (output.spec.isFirstRowOnly) {
        input = { node: this.nodes.length };
        this.nodes.push({ kind: 'limit', input: path.input, count: 1, name: 'limit' });
      }
      const node = encodeNode(output, path, input);
      for (const action of output.actions) encoders[action] = this.nodes.length;
      this.nodes.push(node);
    }
    this.steps.push({ kind: 'project', nodes: [...new Set(encoders)].slice(0, 1) });
    return encoders;
  }

  private addMerge({ sources, timestamps }: Extract<Logical, { kind: 'merge' }>): void {
    const branches = sources.map(({ index }) => this.columns[index] ?? []);
    const into = this.nodes.length;
    const merge: NodePlan = {
      kind: 'merge',
      input: null,
      branches: branches.map(({ length }) => length),
      name: 'merge',
    };
    this.pushNew(merge, null, [null, null, ...branches.flat()]);
    sources.forEach(({ index }, branch) => {
      this.addPort(index, into, branch, timestamps[branch] ?? null);
    });
  }

  private addPort(source: number, into: number, branch: number, time: Value | null): void {
    const path = Path.ofSource(source, this.columns[source] ?? []);
    const columns = path.columnValues.map((_value, i) => col(i));
    const builder = new ProgramBuilder(path);
    const timestamp = time === null ? undefined : builder.operand(time);
    const program = builder.finishOrNull();
    const port: NodePlan = { kind: 'port', input: path.input, into, branch, program, columns, name: 'port' };
    this.nodes.push(timestamp === undefined ? port : { ...port, timestamp });
  }

  /** The window below a join: keeps the number of the branch, if there are several, and all columns, then start, end and trigger. */
  private addCollectingWindow(node: Extract<Logical, { kind: 'window' }>): void {
    const { values } = this;
    const kept = this.path.columnValues.filter((value) => value !== null);
    const isMerged = this.nodes.some(({ kind }) => kind === 'merge');
    const builder = new ProgramBuilder(this.path);
    const window = windowPlan(node.window, (value) => builder.operand(value));
    const isEventTime = this.steps.some(({ kind }) => kind === 'watermark');
    const numbers = isMerged ? [null] : [];
    const plan: NodePlan = {
      kind: 'window',
      input: this.path.input,
      program: builder.finishOrNull(),
      window,
      isEventTime,
      grouped: false,
      keys: [],
      keep: [...numbers.map(() => col(mergeBranch)), ...kept.map((value) => this.columnOperand(value))],
      aggs: [],
      sendEmpty: false,
      name: 'window',
    };
    if (isEventTime) plan.timestamp = isMerged ? col(mergeTime) : this.timeOperand(node.timestamp);
    const parts = [values.window('start'), values.window('end'), values.window('trigger')];
    this.pushNew(plan, node.window.kind === 'row' ? null : 'window', [...numbers, ...kept, ...parts]);
  }

  /** Event time of a row; a computed one is the column that the watermark below added. */
  private timeOperand(time: Value | null): Operand {
    return time?.kind === 'column' ? this.columnOperand(time) : col(this.path.columns);
  }

  /** Tables are the branches after those of the streams, their columns stand behind the window's. */
  private addJoin({ sources, steps }: Extract<Logical, { kind: 'join' }>): void {
    const into = this.nodes.length;
    const tables = tablesOf(sources);
    const order = [...streamsOf(sources), ...tables];
    const branchOf = (source: number): number => order.findIndex(({ index }) => index === source);
    const { input } = this.path;
    const all = [...this.path.columnValues, ...tables.flatMap(({ index }) => this.columns[index] ?? [])];
    const plans = steps.map((step): JoinStep => {
      // Pairs are a batch of their own: what an earlier step computed does not stand in it.
      this.path = this.path.afterNew(into, all);
      const keys = equalities(step).map(({ left, right }) => ({
        leftBranch: branchOf(left.source),
        left: this.columnOperand(left),
        right: this.columnOperand(right),
      }));
      const { type } = step;
      const branch = branchOf(step.source);
      if (step.condition === null) return { type, branch, program: null, condition: null, keys };
      const builder = new ProgramBuilder(this.path);
      const condition = builder.operand(step.condition);
      return { type, branch, program: builder.finish(), condition, keys };
    });
    const join: NodePlan = {
      kind: 'join',
      input,
      program: null,
      branch: order.length - tables.length > 1 ? col(0) : NONE,
      branches: order.map(({ index }) =>
        all.flatMap((value, i) => (value?.kind === 'column' && value.source === index ? [i] : [])),
      ),
      first: branchOf(0),
      steps: plans,
      columns: all.length,
      tables: tables.map(({ index, retainRows }) => ({ branch: branchOf(index), retainRows })),
      name: 'join',
    };
    if (tables.length > 0) this.steps.push({ kind: 'join_aligner', nodes: [into] });
    this.pushNew(join, 'join', all);
    for (const { index } of tables) this.addPort(index, into, branchOf(index), null);
  }

  private addWindow(node: Extract<Logical, { kind: 'window' }>, later: readonly Value[]): void {
    const needs = windowNeeds(later);
    const builder = new ProgramBuilder(this.path);
    const operand = (value: Value): Operand => builder.operand(value);
    const keep = needs.keep.map(operand);
    const keys = node.keys.map(operand);
    const aggs = needs.aggregates.map(({ fn, args, filter }): AggregatePlan => {
      const plan: AggregatePlan = { fn, args: args.map(operand) };
      if (filter !== null) plan.filter = operand(filter);
      return plan;
    });
    const window = windowPlan(node.window, operand);
    const where = node.where === null ? undefined : operand(node.where);
    const timestamp = node.timestamp === null ? undefined : this.timeOperand(node.timestamp);
    const plan: NodePlan = {
      kind: 'window',
      input: this.path.input,
      program: builder.finishOrNull(),
      window,
      isEventTime: node.timestamp !== null,
      grouped: node.isGrouped,
      keys,
      keep,
      aggs,
      sendEmpty: node.sendEmpty,
      name: 'window',
    };
    if (where !== undefined) plan.where = where;
    if (timestamp !== undefined) plan.timestamp = timestamp;
    const columns: (Value | null)[] = [...needs.keep, ...needs.aggregates];
    columns.push(needs.start, needs.end, needs.trigger);
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
    if (step === null) return index;
    const last = this.steps.at(-1);
    if (last?.kind === step) last.nodes.push(index);
    else this.steps.push({ kind: step, nodes: [index] });
    return index;
  }

  private columnOperand(value: Value): Operand {
    const operand = this.path.find(value);
    if (operand === undefined) throw new Error(`value ${value.id} is not a column of the batch`);
    return operand;
  }
}

/** What the operators above a window need of it. */
interface WindowNeeds {
  keep: Value[];
  aggregates: AggregateValue[];
  start: Value | null;
  end: Value | null;
  trigger: Value | null;
}

function windowNeeds(later: readonly Value[]): WindowNeeds {
  const needs: WindowNeeds = { keep: [], aggregates: [], start: null, end: null, trigger: null };
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'column') needs.keep.push(value);
    else if (value.kind === 'aggregate') needs.aggregates.push(value);
    else if (value.kind === 'window') needs[value.part] = value;
    else for (const child of childrenOf(value)) visit(child);
  };
  for (const value of later) visit(value);
  return needs;
}

function valuesAbove(node: Logical): Value[] {
  if (node.kind === 'filter') return [node.condition];
  return node.kind === 'sort' ? node.keys.map(({ value }) => value) : [];
}

function windowPlan(window: WindowSpec, operand: (value: Value) => Operand): WindowPlan {
  if (window.kind === 'state') {
    const { kind, begin, emit } = window;
    return emit === null ? { kind, begin: operand(begin) } : { kind, begin: operand(begin), emit: operand(emit) };
  }
  if (window.kind === 'message') {
    const { kind, start, end, trigger } = window;
    return { kind, start: operand(start), end: operand(end), trigger: operand(trigger) };
  }
  if (window.kind !== 'sliding') return window;
  const { kind, lengthMs, delayMs, trigger } = window;
  return trigger === null ? { kind, lengthMs, delayMs } : { kind, lengthMs, delayMs, trigger: operand(trigger) };
}

/** Actions with equal wishes share one output. */
function outputsOf(row: OutputRow, rule: RuleDefinition, values: Values): Output[] {
  const outputs = new Map<string, Output>();
  rule.actions.forEach((action, i) => {
    const wishes = sinkWishes(action, rule.options);
    const key = JSON.stringify(wishes);
    const same = outputs.get(key);
    if (same !== undefined) same.actions.push(i);
    else outputs.set(key, { spec: outputSpec(row, wishes, values), wishes, actions: [i] });
  });
  return [...outputs.values()];
}

function shapeValues({ shape }: OutputSpec): Value[] {
  return shape.kind === 'object' ? [shape.value] : shape.fields.map(({ value }) => value);
}

function encodeNode({ spec, wishes, actions }: Output, path: Path, input: NodeInput): NodePlan {
  const builder = new ProgramBuilder(path);
  const { shape } = spec;
  const plan: OutputPlan = {
    shape:
      shape.kind === 'object'
        ? { kind: 'object', operand: builder.operand(shape.value) }
        : {
            kind: 'fields',
            fields: shape.fields.map(({ name, value, isPlain, isUnnamed }) => {
              // A collection of no rows (empty window) is sent as null, other aggregates are left out.
              const isCollection = value.kind === 'aggregate' && value.fn === 'collect';
              const field = { name, operand: builder.operand(value), plain: isPlain || isCollection };
              return isUnnamed && spec.sendNil ? { ...field, omitNull: true } : field;
            }),
          },
    format: wishes.format,
    sendSingle: spec.sendSingle,
    sendNil: spec.sendNil,
    omitIfEmpty: wishes.omitIfEmpty,
    sendError: wishes.sendError,
    batchSize: wishes.batchSize,
    lingerMs: wishes.lingerMs,
    framing: wishes.framing,
  };
  return { kind: 'encode', input, program: builder.finishOrNull(), output: plan, actions, name: 'project' };
}
