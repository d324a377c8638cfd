/**
 * Where functions that look back are computed: by operators of their own, which pass all rows on. On rows as they come, before
 * anything is left out of them; what is made of aggregates, of a window or of rows that were looked up, when these are there; numbers of rows
 * after HAVING; columns that changed last of all.
 */
import { refuse } from './errors.js';
import { chainOf, type Logical, valuesOf } from './logical.js';
import { type AnalyticValue, childrenOf, sourcesIn, type Value } from './value.js';

type Project = Extract<Logical, { kind: 'project' }>;

/** Places in the order in which rows come to them. */
const places = ['rows', 'window', 'having', 'output'] as const;
type Place = (typeof places)[number];

/** Operators that rows come to after they have their numbers. */
const afterNumbers: ReadonlySet<Logical['kind']> = new Set(['sort', 'expand', 'limit']);

/** The statement with operators for all functions in it that look back. */
export function withAnalytics(root: Project): Project {
  const chain = chainOf(root).slice(0, -1);
  const found = analyticsIn([...valuesOf(root), ...chain.flatMap(valuesOf).toReversed()]);
  if (found.length === 0) return root;
  const lookedUp = new Set(chain.flatMap((node) => (node.kind === 'lookup' ? [node.source.index] : [])));
  const placeOf = placing(lookedUp);
  for (const node of chain) {
    if (node.kind !== 'filter' || node.clause !== 'having') continue;
    const late = analyticsIn(valuesOf(node)).some((value) => placeOf(value) === 'having');
    if (late) throw refuse('row_number numbers rows that HAVING has left: it cannot be part of it');
  }
  const expand = chain.findIndex(({ kind }) => kind === 'expand');
  const tops: Record<Place, number> = {
    rows: chain.findLastIndex(({ kind }) => kind === 'source' || kind === 'merge' || kind === 'watermark'),
    window: chain.findLastIndex(({ kind }) => kind === 'window' || kind === 'lookup'),
    having: chain.findLastIndex(({ kind }) => !afterNumbers.has(kind)),
    output: (expand < 0 ? chain.length : expand) - 1,
  };
  let input: Logical | undefined;
  chain.forEach((node, i) => {
    input = input === undefined || node.kind === 'source' || node.kind === 'merge' ? node : { ...node, input };
    for (const place of places) {
      if (tops[place] === i) input = above(input, found, (value) => placeOf(value) === place);
    }
  });
  return input === undefined ? root : { ...root, input };
}

/** Says for each function where it is computed: no earlier than those that it is computed of. */
function placing(lookedUp: ReadonlySet<number>): (value: AnalyticValue) => Place {
  const known = new Map<AnalyticValue, number>();
  const visit = (value: AnalyticValue): number => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const own = value.fn === 'changedItem' || value.fn === 'changedColumns' ? 'output' : ownPlace(value, lookedUp);
    const place = Math.max(places.indexOf(own), ...analyticsIn(childrenOf(value)).map(visit));
    known.set(value, place);
    return place;
  };
  return (value) => places[visit(value)] ?? 'output';
}

function ownPlace(value: AnalyticValue, lookedUp: ReadonlySet<number>): Place {
  if (value.fn === 'rowNumber') return 'having';
  const isLater = value.isAfterWindow || sourcesIn(value).some((source) => lookedUp.has(source));
  return isLater ? 'window' : 'rows';
}

/**
 * Operators above the node for the functions that belong there, in their order: a row in which one fails is not seen by those
 * behind it. A function of another's result needs a further operator.
 */
function above(node: Logical, found: readonly AnalyticValue[], isHere: (value: AnalyticValue) => boolean): Logical {
  let result = node;
  let values: AnalyticValue[] = [];
  const flush = (): void => {
    if (values.length > 0) result = { kind: 'analytic', input: result, values };
    values = [];
  };
  for (const value of found.filter(isHere)) {
    const inner = analyticsIn(childrenOf(value));
    if (values.some((one) => inner.includes(one))) flush();
    values.push(value);
  }
  flush();
  return result;
}

/**
 * Functions that look back which the values are computed of, each once, those in others before these; of one value from its end
 * on, as clients know it: which of them see a row depends on that where one fails.
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
