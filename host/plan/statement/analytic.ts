/**
 * Where functions that look back are computed: by operators of their own, which pass all rows on. On rows as they come,
 * before anything is left out of them; what is made of aggregates, of a window or of rows that were looked up, when
 * these are there; numbers of rows, and what takes in the rows of the result alone, after HAVING; columns that changed
 * last of all.
 */

import { limitErrors } from '../errors/limit.js';
import { selectErrors } from '../errors/select.js';
import { chainOf, type Logical, levelOf } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { type AnalyticValue, childrenOf, sourcesIn, type Value } from '../values/value.js';

type Project = Extract<Logical, { kind: 'project' }>;

/** Places in the order in which rows come to them. */
const places = ['rows', 'window', 'having', 'output'] as const;
type Place = (typeof places)[number];

/** Greatest number of orders: each is a sort of its own, and operators are nested. */
const maxOrders = 100;

/** Operators that rows come to after they have their numbers. */
function isAfterNumbers(node: Logical): boolean {
  const { kind } = node;
  if (kind === 'filter') return node.clause === 'qualify';
  return kind === 'window' ? node.isDistinct === true : kind === 'sort' || kind === 'expand' || kind === 'limit';
}

/** Kinds of operators at which the rows of a SELECT begin. */
const bottoms: ReadonlySet<Logical['kind']> = new Set(['source', 'merge', 'watermark', 'derive']);

/** The statement with operators for all functions in it that look back. */
export function withAnalytics(root: Project): Project {
  const whole = chainOf(root).slice(0, -1);
  const chain = levelOf(root).slice(0, -1);
  const own = chain.filter(({ kind }) => kind !== 'derive');
  const found = analyticsIn([...valuesOf(root), ...own.flatMap(valuesOf).toReversed()]);
  if (found.length === 0) return root;
  const lookedUp = new Set(chain.flatMap((node) => (node.kind === 'lookup' ? [node.source.index] : [])));
  const placeOf = placing(lookedUp, new Set(analyticsIn(beforeResult([root, ...own]))));
  for (const node of chain) {
    if (node.kind !== 'filter' || node.clause !== 'having') continue;
    const late = analyticsIn(valuesOf(node)).some((value) => placeOf(value) === 'having');
    if (late) throw selectErrors.rowNumberInHaving();
  }
  const expand = chain.findIndex(({ kind }) => kind === 'expand');
  const tops: Record<Place, number> = {
    rows: chain.findLastIndex(({ kind }) => bottoms.has(kind)),
    window: chain.findLastIndex((node) => (node.kind === 'window' || node.kind === 'lookup') && !isAfterNumbers(node)),
    having: chain.findLastIndex((node) => !isAfterNumbers(node)),
    output: (expand < 0 ? chain.length : expand) - 1,
  };
  let input: Logical | undefined = whole.at(-chain.length - 1);
  chain.forEach((node, i) => {
    input = input === undefined || node.kind === 'source' || node.kind === 'merge' ? node : { ...node, input };
    for (const place of places) {
      if (tops[place] === i) input = above(input, found, (value) => placeOf(value) === place);
    }
  });
  return input === undefined ? root : { ...root, input };
}

/** The rows at a node of a graph with the results of its functions that look back, which these values are made of. */
export function withAnalyticsAt(input: Logical, name: string, values: readonly Value[]): Logical {
  return above(input, analyticsIn(values), ({ node }) => node === name, [name]);
}

/** Values that are needed before the rows of the result are known. */
function beforeResult(nodes: readonly Logical[]): Value[] {
  const isLate = (node: Logical): boolean => node.kind === 'project' || isAfterNumbers(node);
  const early = nodes.filter((node) => !isLate(node)).flatMap(valuesOf);
  return [...early, ...aggregatesIn(nodes.filter(isLate).flatMap(valuesOf))];
}

/**
 * Says for each function where it is computed: no earlier than those that it is computed of.
 * @param early functions that are asked for before the rows of the result are known
 */
function placing(lookedUp: ReadonlySet<number>, early: ReadonlySet<AnalyticValue>): (value: AnalyticValue) => Place {
  const known = new Map<AnalyticValue, number>();
  const visit = (value: AnalyticValue): number => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const own =
      value.fn === 'changedItem' || value.fn === 'changedColumns' ? 'output' : ownPlace(value, lookedUp, early);
    const place = Math.max(places.indexOf(own), ...analyticsIn(childrenOf(value)).map(visit));
    known.set(value, place);
    return place;
  };
  return (value) => places[visit(value)] ?? 'output';
}

function ownPlace(value: AnalyticValue, lookedUp: ReadonlySet<number>, early: ReadonlySet<AnalyticValue>): Place {
  if (value.fn === 'rowNumber' || (value.isOfResult && !early.has(value))) return 'having';
  const isLater = value.isAfterWindow || sourcesIn(value).some((source) => lookedUp.has(source));
  return isLater ? 'window' : 'rows';
}

/**
 * Operators above the node for the functions that belong there, in their order: a row in which one fails is not seen by
 * those behind it. A function of another's result needs a further operator, and so does one that answers later.
 */
function above(
  node: Logical,
  found: readonly AnalyticValue[],
  isHere: (value: AnalyticValue) => boolean,
  labels: readonly string[] = [],
): Logical {
  let result = node;
  let values: AnalyticValue[] = [];
  const flush = (): void => {
    if (values.length > 0) result = { kind: 'analytic', input: result, values, labels };
    values = [];
  };
  let order = '';
  let orders = 0;
  // Numbers without an order of their own are those of the order in which rows come, unless they are made of others.
  const isLate = (value: AnalyticValue): boolean => analyticsIn([value]).some((one) => one.order.length > 0);
  const here = found.filter(isHere).sort((a, b) => Number(isLate(a)) - Number(isLate(b)));
  for (const value of here) {
    const inner = analyticsIn(childrenOf(value));
    const isOrdered = keyOf(value.order) === order;
    if (!isOrdered || values.some((one) => inner.includes(one))) flush();
    // Rows are numbered in one order at a time.
    if (!isOrdered && ++orders > maxOrders) throw limitErrors.orders(maxOrders);
    if (!isOrdered && value.order.length > 0) result = { kind: 'sort', input: result, keys: [...value.order], labels };
    order = keyOf(value.order);
    if (value.isAsked) {
      flush();
      result = { kind: 'stateCall', input: result, value, labels };
    } else values.push(value);
  }
  flush();
  return result;
}

function keyOf(order: AnalyticValue['order']): string {
  return order.map(({ value, descending }) => `${value.id}${descending ? 'd' : ''}`).join();
}

/**
 * Functions that look back which the values are computed of, each once, those in others before these; of one value from
 * its end on, as clients know it: which of them see a row depends on that where one fails.
 */
function analyticsIn(values: readonly Value[]): AnalyticValue[] {
  const found: AnalyticValue[] = [];
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    childrenOf(value).toReversed().forEach(visit);
    if (value.kind === 'analytic') found.push(value);
  };
  values.forEach(visit);
  return found;
}

/** Aggregates that the values are computed of. */
function aggregatesIn(values: readonly Value[]): Value[] {
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return [...seen].filter(({ kind }) => kind === 'aggregate');
}
