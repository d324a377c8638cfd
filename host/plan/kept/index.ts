/**
 * State that a rule keeps from one run to the next, identified by its meaning: a function with its arguments over the
 * rows that it sees, a window with its keys. Other columns, registers and the order of operators are no part of the
 * meaning, so that an update finds again the state that it has not changed.
 */
import type { NodeInput, NodePlan } from '../../../kernels/plan/ir.js';
import type { KeptByNode, KeptMember, KeptOperator } from '../../model/kept.js';
import type { Found, KeptPlace, Rows } from '../nodes/node.js';
import { nodeKindOf } from '../operators/index.js';
import { Batches, type PlanParts } from './batches.js';
import { Meaning } from './meaning.js';
import { Words } from './words.js';

/** State that the rule keeps, by the nodes of its plan; `sinks` are the types of its actions. */
export function keptBy(plan: PlanParts, sinks: readonly string[]): KeptByNode {
  const keeping = new Keeping(plan, sinks);
  const found = new Map<number, KeptOperator>();
  /** Equal members of operators that share their identity: the second one has another key. */
  const seen = new Map<string, number>();
  plan.nodes.forEach((node, at) => {
    const operator = keeping.operator(node, at);
    if (operator === null) return;
    const { key, lists, ...rest } = operator;
    const identity = hex(key);
    const own = node.kind === 'analytic' ? identity : `${identity} ${at}`;
    const numbered = lists.map(({ of, members }) => ({
      of,
      members: members.map((member) => numberedAs(own + of, member)),
    }));
    found.set(at, { identity, holder: rest.what, ...rest, lists: numbered });
  });
  return found;

  function numberedAs(list: string, { key, text }: KeptMember): KeptMember {
    const name = `${list} ${key}`;
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return { key: before === 0 ? key : hex(keeping.meaning.together(BigInt(`0x${key}`), before)), text };
  }
}

function hex(key: bigint): string {
  return key.toString(16).padStart(16, '0');
}

/** Finds the state that each node keeps, and the history of its rows. */
class Keeping {
  readonly meaning: Meaning;
  readonly #batches: Batches;
  readonly #words: Words;
  /** Histories of the output rows of nodes, by node. */
  readonly #rows = new Map<number, Rows>();

  constructor(
    private readonly plan: PlanParts,
    private readonly sinks: readonly string[],
  ) {
    this.#batches = new Batches(plan);
    const { names } = this.#batches;
    this.meaning = new Meaning(names, plan);
    this.#words = new Words(names, (number) => this.meaning.call(number));
  }

  /** State that the node keeps; null: none. */
  operator(node: NodePlan, index: number): Found | null {
    return nodeKindOf(node).keeps?.(node, this.#placeOf(index)) ?? null;
  }

  #placeOf(index: number): KeptPlace {
    const batches = this.#batches;
    return {
      ...batches.placeOf(index),
      names: batches.names,
      rows: () => this.#of({ node: index }),
      rowsOf: (input) => this.#of(input),
      added: (input, key, words, isOfMessages) => {
        const above = this.#of(input);
        return {
          key,
          words: words === '' ? above.words : [...above.words, words],
          isOfMessages: isOfMessages ?? above.isOfMessages,
        };
      },
      together: (...parts) => this.meaning.together(...parts),
      list: (of, values) => ({
        of,
        members: values.map((value) => ({ key: hex(this.meaning.of(value)), text: this.#words.value(value) })),
      }),
      text: (value) => this.#words.value(value),
      texts: (values) => this.#words.all(values),
      source: (source) => this.meaning.source(source),
      sourceOf: (input) => ('source' in input ? this.meaning.source(input.source) : ''),
      sink: (action) => this.#sinkName(action),
      columnAbove: (column) => batches.columnAbove(index, column),
      columnBelow: (column) => batches.columnOf(index, column),
      conditionBelow: (program, operand) => batches.conditionBelow(index, program, operand),
      valuesAt: (node, operands) => batches.valuesOf(node, operands),
    };
  }

  /** Type of a sink, with its number among those of that type where there are several. */
  #sinkName(action: number): string {
    const type = this.sinks[action] ?? '';
    const number = this.sinks.slice(0, action).filter((other) => other === type).length;
    return number === 0 ? type : `${type} ${number + 1}`;
  }

  /** History of the rows of an input. */
  #of(input: NodeInput): Rows {
    if ('source' in input) {
      const name = this.meaning.source(input.source);
      const words = [`FROM ${this.plan.sources[input.source]?.stream ?? ''}`];
      return { key: this.meaning.together('source', name), words, isOfMessages: false };
    }
    const known = this.#rows.get(input.node);
    if (known !== undefined) return known;
    const rows = this.#below(this.plan.nodes[input.node]!, input.node);
    this.#rows.set(input.node, rows);
    return rows;
  }

  #below(node: NodePlan, index: number): Rows {
    const rows = nodeKindOf(node).rows?.(node, this.#placeOf(index));
    if (rows !== undefined) return rows;
    return node.input === null ? { key: 0n, words: [], isOfMessages: false } : this.#of(node.input);
  }
}
