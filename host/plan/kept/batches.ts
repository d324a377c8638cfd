/**
 * Values of the operands of a plan, rebuilt from its nodes and programs. They do not depend on the numbers of registers
 * and columns.
 */
import {
  operandCol as firstColumn,
  operandConst as firstConst,
  NONE,
  type NodeInput,
  type NodePlan,
  type Operand,
  type Program,
  type RulePlan,
} from '../../../kernels/plan/ir.js';
import { Batch } from '../nodes/batch.js';
import type { Place, PlanOf, Port } from '../nodes/node.js';
import { nodeKindOf } from '../operators/index.js';
import { type Value, Values } from '../values/value.js';

/** Parts of a plan from which values are rebuilt. */
export type PlanParts = Pick<RulePlan, 'sources' | 'nodes' | 'lookups' | 'brought'>;

export class Batches {
  readonly values = new Values(Number.POSITIVE_INFINITY);
  /** Names of the sources by number, followed by the names of lookup tables that are asked. */
  readonly names: readonly string[];
  /** Input batch of each node, with the values that the node's program computes. */
  readonly #inputs: Batch[] = [];
  /** Output batch of each node. */
  readonly #outputs: Batch[] = [];
  readonly #ports = new Map<number, Port[]>();

  constructor(readonly plan: PlanParts) {
    plan.nodes.forEach((node, at) => {
      if (node.kind !== 'port') return;
      const known = this.#ports.get(node.into) ?? [];
      this.#ports.set(node.into, [...known, { ...node, at }]);
    });
    this.names = [...plan.sources.map(({ stream }) => stream), ...(plan.lookups ?? []).map(({ table }) => table)];
    plan.nodes.forEach((node, i) => {
      const input = this.#read(node.input).below();
      this.#inputs.push(input);
      if (node.kind === 'hits') this.#count(node, i, input);
      if ('program' in node) this.#run(node.program ?? null, input);
      this.#outputs.push(nodeKindOf(node).gives?.(node, this.placeOf(i)) ?? input);
    });
  }

  /** Value of an operand of a node. `program`: the program that the operand belongs to, by default that of the node. */
  value(node: number, operand: Operand, program = programOf(this.plan.nodes[node])): Value {
    return this.#operand(operand, program, this.#inputs[node]!);
  }

  /** Values of several operands of a node. */
  valuesOf(node: number, operands: readonly Operand[]): Value[] {
    return operands.map((operand) => this.value(node, operand));
  }

  /** Value of a condition over the node's output rows. */
  conditionBelow(node: number, program: Program | null, operand: Operand): Value {
    const batch = this.#outputs[node]!.below();
    this.#run(program, batch);
    return this.#operand(operand, program, batch);
  }

  /** Value of a column of the node's input. */
  columnAbove(node: number, index: number): Value {
    return this.#inputs[node]!.columnAt(index);
  }

  /** Value of a column of the node's output. */
  columnOf(node: number, index: number): Value {
    return this.#outputs[node]!.columnAt(index);
  }

  /** Value of a column that a node adds for the nodes below it; no expression names it. */
  own(name: string): Value {
    return this.values.column(-1, { kind: 'meta', key: name });
  }

  /** Branches of the merge, or tables of the join: the ports that give it rows. */
  portsOf(into: number): readonly Port[] {
    return this.#ports.get(into) ?? [];
  }

  #read(input: NodeInput | null): Batch {
    if (input === null) return new Batch(() => this.own('#none'), null);
    if ('node' in input) return this.#outputs[input.node]!;
    const { source } = input;
    const columns = this.plan.sources[source]?.columns ?? [];
    return new Batch(
      (i) => (columns[i] === undefined ? this.own('#none') : this.values.column(source, columns[i])),
      null,
    );
  }

  /** Sets the hit count and the hit time, which the condition of the node may read. */
  #count({ count, time, name }: PlanOf<'hits'>, at: number, batch: Batch): void {
    batch.set(count, this.values.hit('count', String(at), name === 'having'));
    batch.set(time, this.values.hit('time', String(at), name === 'having'));
  }

  #run(program: Program | null, batch: Batch): void {
    const operand = (value: Operand | undefined): Value | null =>
      value === undefined || value === NONE ? null : this.#operand(value, program, batch);
    for (const { op, dst, a, b, c, args = [], imm = 0 } of program?.ops ?? []) {
      const operands = [a, b, c].map(operand);
      while (operands.at(-1) === null) operands.pop();
      const all = args.map((arg) => this.#operand(arg, program, batch));
      batch.set(dst, this.values.op(op, operands, all, imm));
    }
  }

  #operand(operand: Operand, program: Program | null, batch: Batch): Value {
    if (operand === NONE) return this.own('#none');
    if (operand < firstColumn) return batch.register(operand) ?? this.own('#none');
    if (operand < firstConst) return batch.columnAt(operand - firstColumn);
    const constant = program?.consts[operand - firstConst];
    return constant === undefined ? this.own('#none') : this.values.constant(constant);
  }

  /** Place of a node, through which its record reads the values of its operands. */
  placeOf(index: number): Place {
    const { values } = this;
    const own = (name: string): Value => this.own(name);
    const derived: Place['derived'] = (column, above) => new Batch(column, above ?? null);
    return {
      index,
      values,
      input: this.#inputs[index]!,
      own,
      derived,
      listed: (columns) => derived((i) => columns[i]?.() ?? own('#none')),
      value: (operand) => this.value(index, operand),
      valuesOf: (operands) => this.valuesOf(index, operands),
      ports: () => this.portsOf(index),
      portColumn: (branch, column) => this.#portColumn(index, branch, column),
      tableOf: (node) => this.tableOf(node),
      widthAbove: (input) => this.#widthOf(input),
    };
  }

  /** Number of the source or lookup table in which the node looks up rows; -1: unknown. */
  tableOf(node: PlanOf<'lookup' | 'ask'>): number {
    if (node.kind === 'ask') return this.plan.sources.length + (node.lookup ?? -1);
    const table = this.plan.nodes[node.table]?.input;
    return table !== undefined && table !== null && 'source' in table ? table.source : -1;
  }

  #widthOf(input: NodeInput): number {
    const above = 'node' in input ? this.plan.nodes[input.node] : undefined;
    return above?.kind === 'eventTime' ? above.columns : 0;
  }

  #portColumn(into: number, branch: number, index: number): Value {
    const port = this.portsOf(into).find((one) => one.branch === branch);
    const operand = port?.columns[index];
    return port === undefined || operand === undefined ? this.own('#none') : this.value(port.at, operand);
  }
}

function programOf(node: NodePlan | undefined): Program | null {
  return node !== undefined && 'program' in node ? (node.program ?? null) : null;
}
