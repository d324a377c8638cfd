/**
 * What a rule keeps from one run to the next, by what it means: a function with its arguments over the rows that it sees, a window with
 * its keys. Columns around it, registers and the order of operators are no part of that, so that an update finds again what it has left
 * as it was.
 */
import { aggregates } from '../../../kernels/gen/ops.js';
import type { NodeInput, NodePlan, Operand } from '../../../kernels/ir.js';
import { keptColumns } from '../../../kernels/nodes/window.js';
import { isBatch } from '../../../kernels/output-plan.js';
import type { KeptByNode, KeptList, KeptMember, KeptOperator } from '../../model/kept.js';
import type { Value } from '../value.js';
import { Batches, type PlanParts } from './batches.js';
import { Meaning } from './meaning.js';
import { Words } from './words.js';

type Plan<K extends NodePlan['kind']> = Extract<NodePlan, { kind: K }>;

/** Rows that come to a place of the plan: what they have gone through, and the same in the words of the statement. */
interface Rows {
  readonly key: bigint;
  readonly words: readonly string[];
  /** They are parts of messages. */
  readonly isOfMessages: boolean;
}

/** An operator before its members are told from equal ones. */
type Found = Omit<KeptOperator, 'identity' | 'holder'> & { readonly key: bigint; readonly holder?: string };

/** What the rule keeps, by the nodes of its plan; `sinks` are the types of its actions. */
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

class Keeping {
  readonly meaning: Meaning;
  readonly #batches: Batches;
  readonly #words: Words;
  /** Rows that a node gives on. */
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

  /** What the node keeps; null: nothing. */
  operator(node: NodePlan, at: number): Found | null {
    switch (node.kind) {
      case 'analytic':
        return this.#analytic(node, at);
      case 'window':
        return this.#window(node, at);
      case 'hits': {
        const rows = this.#of(node.input);
        const key = this.meaning.together('hits', rows.key, this.#batches.value(at, node.condition));
        const what = rows.isOfMessages ? 'last_agg_hit_count()' : 'last_hit_count()';
        return { key, what, rows: rows.words, lists: [] };
      }
      case 'eventTime': {
        const rows = this.#of(node.input);
        const key = this.meaning.together('eventTime', rows.key, this.#batches.value(at, node.timestamp));
        const columns = Array.from({ length: node.columns }, (_none, i) => this.#batches.columnAbove(at, i));
        const lists = [this.#values('values', columns)];
        return { key, what: 'rows that wait for the watermark', rows: rows.words, lists };
      }
      case 'merge': {
        const rows = this.#of({ node: at });
        return {
          key: this.meaning.together('merge', rows.key),
          what: 'times of streams',
          rows: [],
          lists: [],
          isSilent: true,
        };
      }
      case 'dedup': {
        const rows = this.#of(node.input);
        const times = [node.begin, node.end, node.now];
        const values = this.#batches.valuesOf(at, times);
        const key = this.meaning.together('dedup', rows.key, values, node.expireMs);
        const columns = [...this.#batches.valuesOf(at, node.columns), ...values];
        const what = `dedup_trigger(${this.#words.all(values)}, ${node.expireMs})`;
        return { key, what, rows: rows.words, lists: [this.#values('values', columns)] };
      }
      case 'ask': {
        const { key, words } = this.#of({ node: at });
        const columns = this.#batches.valuesOf(at, node.columns);
        const lists = [this.#values('values', [...columns, this.#batches.own('#failed')])];
        const what = node.lookup === null ? 'rows that delay() holds back' : 'rows that wait for answers';
        return { key: this.meaning.together('ask', key), what, rows: words, lists };
      }
      case 'asof': {
        const { key, words } = this.#of({ node: at });
        const batches = this.#batches;
        // Rows that are held back are those of the left.
        const keys = node.keys.map(({ left }) => left);
        const lists = [
          this.#values('values', batches.valuesOf(at, [...node.columns, ...keys])),
          this.#values('values', batches.valuesOf(at, node.fields)),
        ];
        return {
          key: this.meaning.together('asof', key),
          what: 'the newest rows of the ASOF JOIN',
          rows: words,
          lists,
        };
      }
      case 'interval': {
        const { key, words } = this.#of({ node: at });
        const lists = [
          this.#values('values', this.#batches.valuesOf(at, node.lefts)),
          this.#values('values', this.#batches.valuesOf(at, node.rights)),
        ];
        return { key: this.meaning.together('interval', key), what: 'the rows of the JOIN', rows: words, lists };
      }
      case 'join':
        return this.#join(node, at);
      case 'keyedTable': {
        const values = this.#batches.valuesOf(at, [node.row, node.sent, node.kindName, node.keyName]);
        const key = this.meaning.together('keyedTable', this.#of(node.input).key, node.key, values);
        return { key, what: 'a lookup table', rows: [], lists: [], isSilent: true };
      }
      case 'encode':
        return this.#output(node);
      default:
        return null;
    }
  }

  #analytic({ functions, input }: Plan<'analytic'>, at: number): Found {
    const { key, words } = this.#of(input);
    // Nothing else writes the registers of the node.
    const values = functions.map(({ dst }) => this.#batches.value(at, dst));
    const lists = [this.#values('functions', values)];
    return { key: this.meaning.together('analytic', key), what: this.#words.all(values), rows: words, lists };
  }

  #window(node: Plan<'window'>, at: number): Found {
    const { kind } = node.window;
    const words = this.#seenBy(node, at);
    const aggs = node.aggs.map((_agg, i) => this.#batches.columnOf(at, node.keep.length + i));
    const isOfRows = keepsRows(node);
    const lists = [
      this.#values(isOfRows ? 'values' : 'none', this.#batches.valuesOf(at, keptColumns(node))),
      this.#values(isOfRows ? 'none' : 'values', this.#batches.valuesOf(at, node.keep)),
      this.#values(isOfRows ? 'none' : 'aggregates', aggs),
    ];
    const what = this.#windowWords(node, at);
    const holder = `the ${isOfRows ? 'rows' : 'groups'} in ${what}`;
    const found = { key: this.#windowKey(node, at), what, holder, rows: words, lists };
    return kind === 'row' || kind === 'message' ? { ...found, isSilent: true } : found;
  }

  #windowKey(node: Plan<'window'>, at: number): bigint {
    const { window, isEventTime, where, grouped } = node;
    const batches = this.#batches;
    const parts = Object.entries(window).flatMap(([name, part]): (string | number | Value | Value[])[] => {
      // How long partitions are kept is no part of what they have.
      if (name === 'ttlMs') return [];
      if (Array.isArray(part)) return [name, batches.valuesOf(at, part)];
      return [name, typeof part === 'number' && operandsOfWindows.has(name) ? batches.value(at, part) : part];
    });
    return this.meaning.together(
      'window',
      this.#of(node.input).key,
      ...parts,
      isEventTime,
      where === undefined ? null : batches.value(at, where),
      grouped,
      keepsRows(node),
      grouped ? batches.valuesOf(at, node.keys) : [],
    );
  }

  /** Where the rows of the window come from; its own WHERE among it. */
  #seenBy({ input, where }: Plan<'window'>, at: number): readonly string[] {
    const { words } = this.#of(input);
    return where === undefined ? words : [...words, `WHERE ${this.#words.value(this.#batches.value(at, where))}`];
  }

  #windowWords({ window, grouped, keys }: Plan<'window'>, at: number): string {
    const triggers = Object.entries(window)
      .filter(([name, part]) => typeof part === 'number' && ['trigger', 'begin', 'emit'].includes(name))
      .map(([, part]) => this.#batches.value(at, part as Operand));
    const partition = 'partition' in window ? this.#batches.valuesOf(at, window.partition ?? []) : [];
    const shown = this.#words.window(window, triggers, partition);
    return grouped && keys.length > 0 ? `${shown} by ${this.#words.all(this.#batches.valuesOf(at, keys))}` : shown;
  }

  /** The tables of a join; rows of messages leave nothing. */
  #join(node: Plan<'join'>, at: number): Found | null {
    const tables = node.tables ?? [];
    const ports = this.#batches.portsOf(at);
    // In the order of the branches, as the kernel has them.
    const lists = node.branches.flatMap((_columns, branch): KeptList[] => {
      const port = tables.some((table) => table.branch === branch)
        ? ports.find((one) => one.branch === branch)
        : undefined;
      return port === undefined ? [] : [this.#values('values', this.#batches.valuesOf(port.at, port.columns))];
    });
    const names = ports.map(({ input }) => this.#nameOf(input)).filter((name) => name !== '');
    const key = this.meaning.together('join', ...names, ...tables.map(({ retainRows }) => retainRows));
    const found = { key, what: `rows of table ${names.join(', ')}`, rows: [], lists };
    return tables.length > 0 ? found : { ...found, isSilent: true };
  }

  /** What was gathered for sinks is to be sent, whatever its rows were made of. */
  #output({ output, actions }: Plan<'encode'>): Found {
    const names = actions.map((action) => this.#sinkName(action));
    const { shape, head, empty, batchSize, lingerMs, ...form } = output;
    const isText = form.format !== 'json' && form.format !== 'rows';
    const fields = shape.kind === 'fields' && isText ? shape.fields.map(({ name }) => name) : [shape.kind];
    const key = this.meaning.together(
      'output',
      ...names,
      JSON.stringify(form),
      isBatch(output),
      head !== undefined,
      empty !== undefined,
      ...fields,
    );
    const what = `the batch that is gathered for ${names.join(', ')}`;
    const found = { key, what, rows: [], lists: [], isOutput: true } as const;
    return isBatch(output) ? found : { ...found, isSilent: true };
  }

  /** Type of a sink, with its number among those of that type where there are several. */
  #sinkName(action: number): string {
    const type = this.sinks[action] ?? '';
    const number = this.sinks.slice(0, action).filter((other) => other === type).length;
    return number === 0 ? type : `${type} ${number + 1}`;
  }

  #values(of: KeptList['of'], values: readonly Value[]): KeptList {
    return {
      of,
      members: values.map((value) => ({ key: hex(this.meaning.of(value)), text: this.#words.value(value) })),
    };
  }

  #nameOf(input: NodeInput): string {
    return 'source' in input ? this.meaning.source(input.source) : '';
  }

  /** Rows that come in there. */
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

  #below(node: NodePlan, at: number): Rows {
    const batches = this.#batches;
    const above: Rows = node.input === null ? { key: 0n, words: [], isOfMessages: false } : this.#of(node.input);
    const added = (key: bigint, words: string, isOfMessages = above.isOfMessages): Rows => ({
      key,
      words: words === '' ? above.words : [...above.words, words],
      isOfMessages,
    });
    switch (node.kind) {
      case 'filter': {
        const condition = batches.value(at, node.condition);
        // It computes values for others.
        if (condition.kind === 'const' && condition.value.tag === 'bool' && condition.value.value) return above;
        const key = this.meaning.together('filter', above.key, condition, node.isWhole === true);
        return added(key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${this.#words.value(condition)}`);
      }
      case 'hits': {
        if (node.judged !== null) return above;
        const condition = batches.value(at, node.condition);
        const key = this.meaning.together('filter', above.key, condition, false);
        return added(key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${this.#words.value(condition)}`);
      }
      case 'analytic':
      case 'port':
      case 'keyedTable':
      case 'encode':
        return above;
      case 'limit':
        return added(this.meaning.together('limit', above.key, node.count), `LIMIT ${node.count}`);
      case 'sort': {
        const keys = node.keys.map(({ operand }) => batches.value(at, operand));
        const orders = node.keys.map(({ descending }) => descending);
        return added(this.meaning.together('sort', above.key, keys, ...orders), `ORDER BY ${this.#words.all(keys)}`);
      }
      case 'expand': {
        const list = batches.value(at, node.list);
        return added(this.meaning.together('expand', above.key, list, node.of), `unnest(${this.#words.value(list)})`);
      }
      case 'eventTime': {
        const time = batches.value(at, node.timestamp);
        return added(this.meaning.together('eventTime', above.key, time), '');
      }
      case 'late':
        return added(this.meaning.together('late', above.key, node.branch), 'rows that come too late');
      case 'merge': {
        const ports = batches.portsOf(at).map((port) => this.#of(port.input));
        const key = this.meaning.together('merge', ...ports.map((rows) => rows.key));
        return {
          key,
          words: ports.flatMap(({ words }) => words),
          isOfMessages: ports.some((rows) => rows.isOfMessages),
        };
      }
      case 'window': {
        const shown = this.#windowWords(node, at);
        const words = [...this.#seenBy(node, at), ...(shown === '' ? [] : [shown])];
        return { key: this.#windowKey(node, at), words, isOfMessages: true };
      }
      case 'join': {
        const steps = node.steps.flatMap(({ type, branch, program, condition }) => [
          type,
          branch,
          condition === null ? null : batches.conditionBelow(at, program, condition),
        ]);
        const tables = batches.portsOf(at).map(({ input }) => this.#nameOf(input));
        return added(this.meaning.together('join', above.key, ...steps, ...tables), 'JOIN');
      }
      case 'asof': {
        const { branches, keys, bounds } = node;
        const pairs = keys.flatMap(({ left, right }) => batches.valuesOf(at, [left, right]));
        const { type, left, right } = branches;
        const key = this.meaning.together('asof', above.key, type, left, right, pairs, bounds.toleranceMs);
        return added(key, 'ASOF JOIN');
      }
      case 'interval': {
        const { type, left, keys, bounds, condition } = node;
        const pairs = keys.flatMap((key) => batches.valuesOf(at, [key.left, key.right]));
        const on = condition === null ? null : batches.conditionBelow(at, condition.program, condition.operand);
        const key = this.meaning.together('interval', above.key, type, left, pairs, bounds.leastMs, bounds.mostMs, on);
        return added(key, 'JOIN');
      }
      case 'lookup':
      case 'ask': {
        const source = batches.tableOf(node);
        const keys = node.keys.map(({ operand }) => batches.value(at, operand));
        const on = node.condition && batches.conditionBelow(at, node.condition.program, node.condition.operand);
        const names = node.keys.map(({ name }) => name);
        const table = this.meaning.source(source);
        const key = this.meaning.together('lookup', above.key, table, node.type, ...names, keys, on);
        return added(
          key,
          node.kind === 'ask' && node.lookup === null ? 'delay()' : `JOIN ${batches.names[source] ?? ''}`,
        );
      }
      case 'dedup': {
        const times = batches.valuesOf(at, [node.begin, node.end, node.now]);
        return added(this.meaning.together('dedup', above.key, times, node.expireMs), '');
      }
      default:
        return node satisfies never;
    }
  }
}

/** A window keeps its rows, not their groups alone (assembly/window/content.ts). */
function keepsRows({ window, grouped, aggs }: Plan<'window'>): boolean {
  if (!grouped || window.kind === 'sliding') return true;
  if (window.kind === 'count') return window.length !== window.step;
  return window.kind === 'hopping' && !aggs.every(({ fn }) => aggregates[fn].isMergeable);
}

/** Members of windows that are operands. */
const operandsOfWindows: ReadonlySet<string> = new Set(['trigger', 'begin', 'emit', 'start', 'end']);
