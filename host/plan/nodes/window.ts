import { aggregates } from '../../../kernels/gen/ops.js';
import { keptColumns, partitionOf } from '../../../kernels/nodes/window.js';
import type { Operand, WindowPlan } from '../../../kernels/plan/ir.js';
import type { Value } from '../values/value.js';
import { writtenWindow } from '../windows/index.js';
import type { KeptPlace, NodeKind, Of } from './node.js';
import { numbered, type Show, shower, showOps } from './text.js';

export const window: NodeKind<'window'> = {
  show(node) {
    const show = shower(node.program);
    const aggs = node.aggs.map(({ fn, args, filter }) => {
      const condition = filter === undefined ? '' : ` filter ${show(filter)}`;
      return `${fn}(${args.map(show).join(' ')})${condition}`;
    });
    const details = [
      `window ${showWindow(node.window, show)}`,
      node.isEventTime && node.timestamp !== undefined ? `event time ${show(node.timestamp)}` : '',
      node.where === undefined ? '' : `where ${show(node.where)}`,
      node.grouped ? `grouped by [${node.keys.map(show).join(' ')}]` : '',
      node.sendEmpty ? 'send empty' : '',
    ];
    const columns = numbered([...node.keep.map(show), ...aggs]);
    return [...showOps(node.program), details.filter((text) => text !== '').join(', '), `give ${columns}`];
  },
  gives({ keep, aggs }, { value, valuesOf, values, listed }) {
    const parts = (['start', 'end', 'trigger'] as const).map((part) => () => values.window(part));
    const computed = aggs.map(({ fn, args, filter, call }) => () => {
      const condition = filter === undefined ? null : value(filter);
      return values.aggregate(fn, valuesOf(args), condition, call);
    });
    return listed([...keep.map((operand) => () => value(operand)), ...computed, ...parts]);
  },
  rows(node, at) {
    const shown = wordsOf(node, at);
    const words = [...seenBy(node, at), ...(shown === '' ? [] : [shown])];
    return { key: keyOf(node, at), words, isOfMessages: true };
  },
  keeps(node, at) {
    const { kind } = node.window;
    const rows = seenBy(node, at);
    const aggs = node.aggs.map((_agg, i) => at.columnBelow(node.keep.length + i));
    const isOfRows = keepsRows(node);
    const lists = [
      at.list(isOfRows ? 'values' : 'none', at.valuesOf(keptColumns(node))),
      at.list(isOfRows ? 'none' : 'values', at.valuesOf(node.keep)),
      at.list(isOfRows ? 'none' : 'aggregates', aggs),
    ];
    const what = wordsOf(node, at);
    const holder = `the ${isOfRows ? 'rows' : 'groups'} in ${what}`;
    const found = { key: keyOf(node, at), what, holder, rows, lists };
    return kind === 'row' || kind === 'message' ? { ...found, isSilent: true } : found;
  },
};

function showWindow(spec: WindowPlan, show: Show): string {
  const parts = Object.entries(spec).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${name} ${operands.has(name) ? show(value) : value}`] : [],
  );
  const partition = partitionOf(spec);
  if (partition.length > 0) parts.push(`by [${partition.map(show).join(' ')}]`);
  return [spec.kind, ...parts].join(' ');
}

/** Members of windows that are operands. */
const operands: ReadonlySet<string> = new Set(['trigger', 'begin', 'emit', 'start', 'end']);

function keyOf(node: Of<'window'>, at: KeptPlace): bigint {
  const { window: spec, isEventTime, where, grouped, input, keys } = node;
  const parts = Object.entries(spec).flatMap(([name, part]): (string | number | Value | Value[])[] => {
    // How long partitions are kept is no part of what they have.
    if (name === 'ttlMs') return [];
    if (Array.isArray(part)) return [name, at.valuesOf(part)];
    return [name, typeof part === 'number' && operands.has(name) ? at.value(part) : part];
  });
  return at.together(
    'window',
    at.rowsOf(input).key,
    ...parts,
    isEventTime,
    where === undefined ? null : at.value(where),
    grouped,
    keepsRows(node),
    grouped ? at.valuesOf(keys) : [],
  );
}

/** Where the rows of the window come from; its own WHERE among it. */
function seenBy({ input, where }: Of<'window'>, at: KeptPlace): readonly string[] {
  const { words } = at.rowsOf(input);
  return where === undefined ? words : [...words, `WHERE ${at.text(at.value(where))}`];
}

function wordsOf({ window: spec, grouped, keys }: Of<'window'>, at: KeptPlace): string {
  const triggers = Object.entries(spec)
    .filter(([name, part]) => typeof part === 'number' && ['trigger', 'begin', 'emit'].includes(name))
    .map(([, part]) => at.value(part as Operand));
  const shown = writtenWindow(spec, triggers, at.valuesOf(partitionOf(spec)), (values) => at.texts(values));
  return grouped && keys.length > 0 ? `${shown} by ${at.texts(at.valuesOf(keys))}` : shown;
}

/** A window keeps its rows, not their groups alone (assembly/window/content/content.ts). */
function keepsRows({ window: spec, grouped, aggs }: Of<'window'>): boolean {
  if (!grouped || spec.kind === 'sliding') return true;
  if (spec.kind === 'count') return spec.length !== spec.step;
  return spec.kind === 'hopping' && !aggs.every(({ fn }) => aggregates[fn].isMergeable);
}
