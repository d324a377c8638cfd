/**
 * Starts of rules on their way to a data plane. Thousands of rules differ in an id and a constant: such a start names
 * one that was sent before, its form, and has only what differs. The rules share the rest there.
 */
import type { ConstValue, NodePlan, Program, RulePlan } from '../../../kernels/plan/ir.js';
import type { Command, RuleStart, ToPlane } from './protocol.js';

type StartCommand = Extract<Command, { kind: 'start' }>;
type StartsCommand = Extract<Command, { kind: 'startAs' }>;

/** What a rule has that its form has not: constants of nodes, and members. */
interface Difference {
  readonly nodes: readonly number[];
  readonly constants: readonly (readonly ConstValue[])[];
  readonly own: Partial<RuleStart> | undefined;
}

/** Forms that a thread knows at most. */
const mostForms = 16;

/** Packs the starts that are sent to one thread. */
export class PackedStarts {
  readonly #forms: RuleStart[] = [];
  #last = -1;
  /** Operators of plans that were sent: a second rule that has them makes a form. */
  readonly #seen = new WeakSet<RulePlan['operators']>();

  /** Messages as they are sent: starts of one form that follow each other are one message. */
  pack(messages: readonly ToPlane[]): ToPlane[] {
    const packed: ToPlane[] = [];
    for (const message of messages) {
      if (message.kind !== 'start') {
        packed.push(message);
        continue;
      }
      const { rule } = message;
      const form = this.#forms.findIndex(({ plan }) => plan.operators === rule.plan.operators);
      const difference = form < 0 ? undefined : differenceOf(this.#forms[form]!, rule);
      if (difference === undefined) packed.push(this.#whole(message));
      else add(packed, form, rule, difference);
    }
    return packed;
  }

  /** A start with all its parts, as a form for those that follow where its like was sent before. */
  #whole(message: StartCommand): StartCommand {
    const { rule } = message;
    const { operators } = rule.plan;
    if (!this.#seen.has(operators)) {
      this.#seen.add(operators);
      return message;
    }
    this.#last = (this.#last + 1) % mostForms;
    this.#forms[this.#last] = rule;
    return { ...message, form: this.#last };
  }
}

function add(packed: ToPlane[], form: number, { id, run }: RuleStart, { nodes, constants, own }: Difference): void {
  const before = packed.at(-1);
  if (before?.kind === 'startAs' && before.form === form && isSame(before.nodes, nodes)) {
    before.ids.push(id);
    before.runs.push(run);
    before.constants.push(...constants);
    before.own.push(own);
  } else {
    packed.push({ kind: 'startAs', form, nodes, ids: [id], runs: [run], constants: [...constants], own: [own] });
  }
}

/** What the start has that the form has not; undefined when that is more than constants and members. */
function differenceOf(form: RuleStart, start: RuleStart): Difference | undefined {
  const { nodes: formNodes, ...formPlan } = form.plan;
  const { nodes: startNodes, ...startPlan } = start.plan;
  if (membersOf(formPlan, startPlan) !== undefined || formNodes.length !== startNodes.length) return undefined;
  const nodes: number[] = [];
  const constants: (readonly ConstValue[])[] = [];
  for (const [i, node] of startNodes.entries()) {
    const like = formNodes[i]!;
    if (node === like) continue;
    const own = constantsOf(like, node);
    if (own === undefined) return undefined;
    nodes.push(i);
    constants.push(own);
  }
  const { id: _id, run: _run, plan: _plan, ...formRest } = form;
  const { id: _ownId, run: _ownRun, plan: _ownPlan, ...rest } = start;
  return { nodes, constants, own: membersOf(formRest, rest) };
}

/** The constants of a node whose program differs from the other's in them alone; undefined for other nodes. */
function constantsOf(like: NodePlan, node: NodePlan): readonly ConstValue[] | undefined {
  if (!('program' in like) || !('program' in node)) return undefined;
  const { program: formProgram, ...form } = like;
  const { program, ...rest } = node;
  if (!formProgram || !program || membersOf(form, rest) !== undefined) return undefined;
  const { consts: _formConsts, ...formOps } = formProgram as Program;
  const { consts, ...ops } = program as Program;
  return membersOf(formOps, ops) === undefined ? consts : undefined;
}

/** Members of an object that another one has otherwise or not; undefined when there are none. */
function membersOf<T extends object>(form: T, object: T): Partial<T> | undefined {
  let own: Partial<T> | undefined;
  const names = Object.keys(object) as (keyof T)[];
  for (const name of [...names, ...(Object.keys(form) as (keyof T)[])]) {
    if (isSame(form[name], object[name])) continue;
    own ??= {};
    own[name] = object[name];
  }
  return own;
}

/** Whether both are one, or lists of the same items. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other)) return false;
  return one.length === other.length && one.every((item, i) => item === other[i]);
}

/** Puts starts together again, in the thread that gets them. */
export class UnpackedStarts {
  readonly #forms: RuleStart[] = [];

  /** The messages for which one stands. */
  *of(message: ToPlane): Generator<Exclude<ToPlane, StartsCommand>> {
    if (message.kind !== 'startAs') {
      if (message.kind === 'start' && message.form !== undefined) this.#forms[message.form] = message.rule;
      yield message;
      return;
    }
    const form = this.#forms[message.form]!;
    const { nodes, ids, runs, constants, own } = message;
    for (const [i, id] of ids.entries()) {
      const of = (n: number) => constants[i * nodes.length + n]!;
      const plan = nodes.length === 0 ? form.plan : planWith(form.plan, nodes, of);
      yield { kind: 'start', rule: { ...form, id, run: runs[i]!, plan, ...own[i] } };
    }
  }
}

function planWith(plan: RulePlan, places: readonly number[], of: (n: number) => readonly ConstValue[]): RulePlan {
  const nodes = [...plan.nodes];
  for (const [n, place] of places.entries()) {
    const node = nodes[place] as Extract<NodePlan, { kind: 'filter' }>;
    nodes[place] = { ...node, program: { ...node.program, consts: [...of(n)] } };
  }
  return { ...plan, nodes };
}
