/** What the operands of a plan stand for: values made again of nodes and programs, whatever registers and columns these were given. */
import {
  operandCol as firstColumn,
  operandConst as firstConst,
  NONE,
  type NodeInput,
  type NodePlan,
  type Operand,
  type Program,
  type RulePlan,
} from '../../../kernels/ir.js';
import { type Value, Values } from '../value.js';

/** What values are made of; a plan is one. */
export type PlanParts = Pick<RulePlan, 'sources' | 'nodes' | 'lookups' | 'brought'>;

type Plan<K extends NodePlan['kind']> = Extract<NodePlan, { kind: K }>;

/** A port and its index among the nodes. */
type Port = Plan<'port'> & { readonly at: number };

/** The rows at one place of a plan: values by register, and by column. */
class Batch {
  readonly #registers = new Map<number, Value>();

  constructor(
    private readonly column: (index: number) => Value,
    /** Its registers are still there. */
    private readonly above: Batch | null,
  ) {}

  /** The same rows for a node that reads them. */
  below(): Batch {
    return new Batch(this.column, this);
  }

  set(register: number, value: Value): void {
    this.#registers.set(register, value);
  }

  columnAt(index: number): Value {
    return this.column(index);
  }

  register(index: number): Value | undefined {
    return this.#registers.get(index) ?? this.above?.register(index);
  }
}

export class Batches {
  readonly values = new Values(Number.POSITIVE_INFINITY);
  /** Sources by number, tables that are asked behind them. */
  readonly names: readonly string[];
  /** What each node reads, with what its program computes of it. */
  readonly #inputs: Batch[] = [];
  /** What each node gives on. */
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
      this.#outputs.push(this.#outputOf(node, i, input));
    });
  }

  /** The value of an operand of the node; `program`: of one of its own beside that of the node. */
  value(node: number, operand: Operand, program = programOf(this.plan.nodes[node])): Value {
    return this.#operand(operand, program, this.#inputs[node]!);
  }

  /** The same of several. */
  valuesOf(node: number, operands: readonly Operand[]): Value[] {
    return operands.map((operand) => this.value(node, operand));
  }

  /** What a condition over the rows that the node gives on stands for. */
  conditionBelow(node: number, program: Program | null, operand: Operand): Value {
    const batch = this.#outputs[node]!.below();
    this.#run(program, batch);
    return this.#operand(operand, program, batch);
  }

  /** Column of what the node reads. */
  columnAbove(node: number, index: number): Value {
    return this.#inputs[node]!.columnAt(index);
  }

  /** Column of what the node gives on. */
  columnOf(node: number, index: number): Value {
    return this.#outputs[node]!.columnAt(index);
  }

  /** A value that no expression names: a column that a node adds for those below it. */
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

  /** What the condition of the node may ask for. */
  #count({ count, time, name }: Plan<'hits'>, at: number, batch: Batch): void {
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

  #outputOf(node: NodePlan, at: number, input: Batch): Batch {
    const { values } = this;
    const listed = (list: readonly (() => Value)[]) => new Batch((i) => list[i]?.() ?? this.own('#none'), null);
    const all = (operands: readonly Operand[]) => operands.map((operand) => () => this.value(at, operand));
    switch (node.kind) {
      case 'filter':
      case 'limit':
        return input;
      case 'analytic':
        for (const { fn, args, size, partition, when, dst } of node.functions) {
          const condition = when === undefined ? null : this.value(at, when);
          const over = this.valuesOf(at, partition);
          input.set(dst, values.analytic(fn, this.valuesOf(at, args), size, over, condition));
        }
        return input;
      case 'hits':
        if (node.judged !== null) input.set(node.judged, this.value(at, node.condition));
        return input;
      case 'sort': {
        const { columns, carried = [] } = node;
        const own = all(carried);
        return new Batch((i) => (i < columns ? input.columnAt(i) : (own[i - columns]?.() ?? input.columnAt(i))), input);
      }
      case 'expand':
        return listed([...all(node.columns), () => values.item()]);
      case 'eventTime':
        return new Batch((i) => (i < node.columns ? input.columnAt(i) : this.own('#time')), null);
      case 'late': {
        const width = this.#widthOf(node.input);
        return new Batch((i) => (i <= width ? input.columnAt(i) : values.late('by')), null);
      }
      case 'merge': {
        const heads = [this.own('#branch'), this.own('#time')];
        return new Batch((i) => heads[i] ?? this.#merged(at, node.branches, i - heads.length), null);
      }
      case 'window': {
        const parts = (['start', 'end', 'trigger'] as const).map((part) => () => values.window(part));
        const aggs = node.aggs.map(({ fn, args, filter, call }) => () => {
          const condition = filter === undefined ? null : this.value(at, filter);
          return values.aggregate(fn, this.valuesOf(at, args), condition, call);
        });
        return listed([...all(node.keep), ...aggs, ...parts]);
      }
      case 'join':
        return new Batch((i) => this.#joined(at, node, i) ?? input.columnAt(i), null);
      case 'asof':
        return listed([...all([...node.columns, ...node.fields]), () => this.own('#time')]);
      case 'interval':
        return listed([...all([...node.lefts, ...node.rights]), () => this.own('#time')]);
      case 'lookup':
      case 'ask': {
        const source = this.tableOf(node);
        const fields = node.fields.map((use) => () => values.column(source, use));
        return listed([...all(node.columns), ...fields]);
      }
      case 'dedup': {
        const times = [node.begin, node.end, node.now] as const;
        const [begin, end, now] = this.valuesOf(at, times) as [Value, Value, Value];
        return listed([...all(node.columns), () => values.ranges(begin, end, now, node.expireMs)]);
      }
      case 'port':
      case 'keyedTable':
      case 'encode':
        return input;
      default:
        return node satisfies never;
    }
  }

  /** Number of the source, or of the table that is asked, in which rows are looked up. */
  tableOf(node: Plan<'lookup' | 'ask'>): number {
    if (node.kind === 'ask') return this.plan.sources.length + (node.lookup ?? -1);
    const table = this.plan.nodes[node.table]?.input;
    return table !== undefined && table !== null && 'source' in table ? table.source : -1;
  }

  #widthOf(input: NodeInput): number {
    const above = 'node' in input ? this.plan.nodes[input.node] : undefined;
    return above?.kind === 'eventTime' ? above.columns : 0;
  }

  #merged(into: number, branches: readonly number[], index: number): Value {
    let first = 0;
    for (let branch = 0; branch < branches.length; branch++) {
      const count = branches[branch]!;
      if (index < first + count) return this.#portColumn(into, branch, index - first);
      first += count;
    }
    return this.own('#none');
  }

  /** The column of a table; undefined when the input has it. */
  #joined(into: number, { branches, tables = [] }: Plan<'join'>, index: number): Value | undefined {
    for (const { branch } of tables) {
      const place = branches[branch]?.indexOf(index) ?? -1;
      if (place >= 0) return this.#portColumn(into, branch, place);
    }
    return undefined;
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
