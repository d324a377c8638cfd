/** From the logical plan to the nodes of the kernel: operands, registers, columns of batches. */
import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { RuleDefinition, RuleOptions } from '../../model/engine.js';
import { lookedBackIn } from '../bind/looking-back.js';
import { readBy } from '../joins/join.js';
import { planTable } from '../joins/lookup.js';
import { inputsOf, type Logical, operatorsOf, type Root } from '../logical/logical.js';
import { kindOf } from '../operators/index.js';
import type { Lowering } from '../operators/operator.js';
import type { AskedFunction, Chain, Physical, Step } from '../program/physical-plan.js';
import { Path } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import { neededColumns } from '../rules/prune-columns.js';
import type { Relation, Source } from '../values/source.js';
import type { ColumnValue, Value, Values } from '../values/value.js';
import { encodeNode, type Output, outputsOf, shapeValues } from './encode.js';
import { Readers } from './readers.js';

/**
 * Turns a plan into nodes. Throws `plan` errors for what the kernel has no room for, `sink` errors for properties of
 * sinks.
 */
export function lower(
  roots: readonly Root[],
  rule: RuleDefinition,
  values: Values,
  sources: readonly Source[],
): Physical {
  const outputs = roots.map((root) => outputsOf(root, rule, values));
  const outputValues = new Map(roots.map(({ node }, i) => [node, outputs[i]!.flatMap(shapeValues)]));
  const { columns, uses } = neededColumns(operatorsOf(roots), [...outputValues.values()].flat(), sources.length);
  const lowering = new Planner(rule.options, columns, values, new Readers(roots, outputValues));
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

class Planner implements Lowering {
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
  path: Path;
  /** Where the rows of operators are that have their nodes already. */
  private readonly places = new Map<Logical, Path>();
  /** Values that operators compute for those above them. */
  readonly held = new Set<Value>();
  /** Sources whose branches bring computed values to a merge. */
  private readonly owners = new Map<Value, number>();
  private labels: readonly string[] = [];

  constructor(
    readonly options: RuleOptions,
    readonly columns: readonly (readonly ColumnValue[])[],
    readonly values: Values,
    private readonly readers: Readers,
  ) {
    this.path = Path.ofSource(0, []);
  }

  get next(): number {
    return this.nodes.length;
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
      kindOf(node).lower(node, this);
      this.places.set(node, this.path);
      const { input, columnValues } = this.path;
      if (input !== null && 'node' in input) this.rows.set(input.node, columnValues);
    }
    if (known !== undefined) this.path = known;
    // Operators side by side don't see each other's registers.
    if (this.readers.isShared(node)) this.path = this.path.branch();
  }

  /** Adds the nodes of an input of a merge, and stays behind them. */
  placeBranch(input: Logical): Chain {
    const { labels, steps } = this;
    this.steps = [];
    const chain = { sources: readBy(input), steps: this.steps };
    this.place(input);
    this.steps = steps;
    this.labels = labels;
    return chain;
  }

  isHeld(value: Value): boolean {
    return this.held.has(value) && this.path.find(value) !== undefined;
  }

  valuesAbove(node: Logical): readonly Value[] {
    return this.readers.valuesAbove(node);
  }

  isMerged(node: Logical): boolean {
    return this.readers.isMerged(node);
  }

  isRead(node: Logical, kind: Logical['kind']): boolean {
    return this.readers.isRead(node, kind);
  }

  isJoined(window: Logical): boolean {
    return this.readers.isJoined(window);
  }

  computedFor({ index }: Relation, above: readonly Value[]): Value[] {
    const { keep } = windowNeeds(above, isNone, (value) => this.isHeld(value));
    const computed = keep.filter(({ kind }) => kind === 'op' || kind === 'analytic');
    for (const value of computed) this.owners.set(value, index);
    return computed;
  }

  ownerOf(value: Value): number | undefined {
    return value.kind === 'column' ? value.source : this.owners.get(value);
  }

  ownedByStreams(above: readonly Value[]): ReadonlyMap<Value, Value> {
    const found = lookedBackIn(above, (value) => this.isHeld(value));
    for (const { value, source } of found) {
      this.owners.set(value, source);
      this.held.add(value);
    }
    return new Map(found.map(({ value, of }) => [value, of]));
  }

  askedOf(call: AskedFunction['call']): number {
    const known = this.asked.findIndex((one) => 'call' in one && one.call === call);
    return known >= 0 ? known : this.asked.push({ call }) - 1;
  }

  tableOf(source: Source): number {
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

  push(node: NodePlan, step: Step['kind'] | null): void {
    this.path = this.path.after(this.record(node, step));
  }

  pushNew(node: NodePlan, step: Step['kind'] | null, columns: readonly (Value | null)[]): void {
    this.path = this.path.afterNew(this.record(node, step), columns);
  }

  record(node: NodePlan, step: Step['kind'] | null): number {
    const index = this.nodes.length;
    this.nodes.push(node);
    for (const label of this.labels) this.labelled.set(label, [...(this.labelled.get(label) ?? []), index]);
    if (step === null) return index;
    const last = this.steps.at(-1);
    if (last?.kind === step) last.nodes.push(index);
    else this.steps.push({ kind: step, nodes: [index] });
    return index;
  }

  add(node: NodePlan): number {
    return this.nodes.push(node) - 1;
  }

  addStep(step: Step): void {
    this.steps.push(step);
  }

  operandOf(value: Value): Operand {
    const operand = this.path.find(value);
    if (operand === undefined) throw new Error(`value ${value.id} is not in the batch`);
    return operand;
  }
}
