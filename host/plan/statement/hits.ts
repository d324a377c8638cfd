/**
 * Where it is counted how many rows, or messages, got past a clause: the condition that asks is judged row by row by
 * the operator that counts; for what asks behind all clauses one counts without a condition.
 */
import { chainOf, type Logical, levelOf } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import { childrenOf, type HitValue, type Value } from '../values/value.js';

type Project = Extract<Logical, { kind: 'project' }>;

/**
 * The statement with operators that count hits.
 * @param timeOf time of a row of the stream, or of what a window gave
 */
export function withHits(root: Project, timeOf: (isOfWindow: boolean) => Value): Project {
  const chain = levelOf(root).slice(0, -1);
  // Hits inside a derived table have been counted there.
  const own = (nodes: readonly Logical[]) => nodes.filter(({ kind }) => kind !== 'derive').flatMap(valuesOf);
  if (hitsIn(own([...chain, root])).length === 0) return root;
  const judged = new Set<HitValue>();
  const replaced = chain.flatMap((node): Logical[] => {
    const asked = askedBy(node);
    if (asked === null) return [node];
    const { input, condition, clause } = asked;
    const hits = hitsIn([condition]);
    for (const hit of hits) judged.add(hit);
    if (hits.length === 0) return [node];
    const counting: Logical = { kind: 'hits', input, condition, clause, hits, time: timeOf(clause === 'having') };
    // The window gets all rows, with what the condition gave for them.
    return clause === 'over' ? [counting, node] : [counting];
  });
  const isLeft = (hit: HitValue): boolean => !judged.has(hit);
  const sorted = replaced.findIndex((node) => node.kind === 'sort' && hitsIn(valuesOf(node)).some(isLeft));
  const expand = replaced.findIndex(({ kind }) => kind === 'expand');
  const distinct = replaced.findIndex((node) => node.kind === 'window' && node.isDistinct === true);
  const last = expand >= 0 ? expand : replaced.length;
  const place =
    distinct >= 0 && hitsIn(valuesOf(replaced[distinct]!)).some(isLeft) ? distinct : sorted >= 0 ? sorted : last;
  const left = hitsIn(own([root, ...replaced])).filter(isLeft);
  let input = chainOf(root).at(-chain.length - 2);
  const add = (node: Logical): void => {
    input = input === undefined || node.kind === 'source' || node.kind === 'merge' ? node : { ...node, input };
  };
  replaced.forEach((node, i) => {
    if (i === place) addCount();
    add(node);
  });
  if (place === replaced.length) addCount();
  return input === undefined ? root : { ...root, input };

  function addCount(): void {
    if (left.length === 0 || input === undefined) return;
    const time = timeOf(left.some(({ isAfterWindow }) => isAfterWindow));
    input = { kind: 'hits', input, condition: null, clause: null, hits: left, time };
  }
}

/** The condition of the node that may depend on hits. */
function askedBy(
  node: Logical,
): (Pick<Extract<Logical, { kind: 'hits' }>, 'input' | 'clause'> & { condition: Value }) | null {
  if (node.kind === 'filter' && node.clause !== 'qualify' && node.clause !== 'case') {
    return { input: node.input, condition: node.condition, clause: node.clause };
  }
  if (node.kind !== 'window' || node.window.kind !== 'sliding' || node.window.trigger === null) return null;
  return { input: node.input, condition: node.window.trigger, clause: 'over' };
}

/** Hits that the values are computed of, each once. */
function hitsIn(values: readonly Value[]): HitValue[] {
  const found: HitValue[] = [];
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'hit') found.push(value);
    childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return found;
}
