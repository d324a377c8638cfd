/** What EXPLAIN says of an operator beside what it does: where it works, what it keeps, what others may share of it. */
import { aggregates } from '../../kernels/gen/ops.js';
import { hostFunctionName } from '../functions/registry.js';
import { tablesOf } from './join.js';
import { chainOf, hasWatermark, inputsOf, type Logical, partitionOf, valuesOf, type WindowNode } from './logical.js';
import { aggregatesIn, childrenOf, type Value } from './value.js';

/** Left out is what there is nothing to say of: an operator works in the kernel and keeps nothing. */
export interface Notes {
  /** Functions that the host computes, over whole columns. */
  host?: string;
  /** What stays in memory between two rows or messages, and with what it grows. */
  keeps?: string;
  /** Rules with an equal operator on the stream use one for all. */
  shared?: string;
  /** Rows wait there for others, for time or for an answer. */
  waits?: string;
}

/**
 * Null where there is nothing to say.
 * @param values what the operator computes
 * @param above what the operators above it compute
 */
export function notesOf(node: Logical, values: readonly Value[], above: readonly Value[]): Notes | null {
  const called = hostFunctionsIn(values);
  const keeps = keptBy(node, above);
  const waits = waitsFor(node);
  const notes: Notes = {
    ...(called.length === 0 ? {} : { host: called.join(', ') }),
    ...(keeps === undefined ? {} : { keeps }),
    ...(waits === undefined ? {} : { waits }),
    ...(isShareable(node) ? { shared: 'with rules that have the same here' } : {}),
  };
  return Object.keys(notes).length === 0 ? null : notes;
}

/** Names of functions that the host computes. */
function hostFunctionsIn(values: readonly Value[]): string[] {
  const found = new Set<string>();
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'op' && value.op === 'call.host') found.add(hostFunctionName(value.imm));
    childrenOf(value).forEach(visit);
  };
  values.forEach(visit);
  return [...found].sort();
}

function keptBy(node: Logical, above: readonly Value[]): string | undefined {
  switch (node.kind) {
    case 'watermark':
      return 'rows that the watermark has not reached: grows with the rate of rows and lateTolerance';
    case 'window':
      return keptByWindow(node, above);
    case 'sort':
      return 'the rows of one message';
    case 'dedup':
      return 'ranges that were given, until they expire: grows with the number of gaps between them';
    case 'analytic':
      return node.values.some(
        ({ fn }) => fn === 'incCollect' || fn === 'accCollect' || fn === 'accDistinctCollect' || fn === 'accMapAgg',
      )
        ? 'all values of inc_collect of each partition: grows with the number of rows'
        : 'a value of each function and partition: grows with the number of partitions, not of rows';
    case 'asof': {
      const of = node.keys.length === 0 ? 'does not grow' : 'grows with the number of keys, not of rows';
      return `the newest row of ${node.source.ownName}${node.keys.length === 0 ? '' : ' for each key'}: ${of}`;
    }
    case 'interval':
      return keptByInterval(node);
    case 'join': {
      const tables = tablesOf(node.sources);
      if (tables.length === 0) return undefined;
      const kept = tables.map(({ ownName, retainRows }) =>
        retainRows > 0 ? `the newest ${retainRows} rows of ${ownName}` : `all rows of ${ownName}`,
      );
      return kept.join(', ');
    }
    default:
      return undefined;
  }
}

/** Rows for which one of the other side may come yet; of a side that needs none they go at once. */
function keptByInterval({ left, source, leastMs, mostMs }: Extract<Logical, { kind: 'interval' }>): string {
  const spans = [
    { ownName: left.ownName, ms: mostMs },
    { ownName: source.ownName, ms: -leastMs },
  ].filter(({ ms }) => ms > 0);
  if (spans.length === 0) return 'rows of the newest time: does not grow';
  const kept = spans.map(({ ownName, ms }) => `the rows of ${ownName} of the last ${ms} ms`);
  return `${kept.join(' and ')}: grows with their number`;
}

function keptByWindow(node: WindowNode, above: readonly Value[]): string | undefined {
  const { window } = node;
  if (window.kind === 'row') return undefined;
  if (window.kind === 'message') return 'the groups of one message';
  const isPartitioned = partitionOf(window).length > 0;
  const span = isPartitioned ? `${spanOf(window)} of each partition` : spanOf(window);
  const fns = aggregatesIn(...above);
  const lists = [...new Set(fns.flatMap(({ fn }) => (aggregates[fn].keepsValues ? aggregates[fn].sql : [])))];
  const keepsRows = !node.isGrouped || node.where !== null || window.kind === 'sliding' || window.kind === 'count';
  if (keepsRows) return `the rows of ${span}: grows with their number`;
  const groups = node.keys.length === 0 ? 'one group' : 'each group';
  if (lists.length > 0) return `${lists.join(', ')} of ${groups} of ${span}: grows with the number of rows`;
  if (isPartitioned) return `aggregates of ${groups} of ${span}: grows with the number of partitions, not of rows`;
  return node.keys.length === 0
    ? `aggregates of ${span}: does not grow`
    : `aggregates of ${groups} of ${span}: grows with the number of groups, not of rows`;
}

function spanOf(window: WindowNode['window']): string {
  switch (window.kind) {
    case 'tumbling':
      return `the last ${window.lengthMs} ms`;
    case 'hopping':
      return `the last ${window.lengthMs} ms (${Math.ceil(window.lengthMs / window.hopMs)} windows)`;
    case 'sliding':
      return `the last ${window.lengthMs + window.delayMs} ms`;
    case 'session':
      return `the open session (${2 * window.maxMs} ms at most)`;
    case 'count':
      return `the last ${window.length} rows`;
    default:
      return 'the open windows';
  }
}

function waitsFor(node: Logical): string | undefined {
  if (node.kind === 'watermark') return 'for the watermark';
  if (node.kind === 'dedup') return 'for the end of the range that they ask for';
  if (node.kind === 'delay') return 'until their time has come';
  if (node.kind === 'call') return 'for answers of a function';
  if (node.kind === 'asof' && hasWatermark(node)) return 'for the watermark to pass their time';
  if (node.kind === 'window') {
    if (node.window.kind === 'row' || node.window.kind === 'message') return undefined;
    return 'for the end of the window';
  }
  return undefined;
}

/** True for operators that keep nothing, on the way from a shared stream to the first that does. */
function isShareable(node: Logical): boolean {
  const chain = chainOf(node);
  const [bottom] = chain;
  if (bottom?.kind !== 'source' || !bottom.source.definition.options.shared) return false;
  return chain.every(({ kind }) => ['source', 'filter', 'compute', 'expand', 'project'].includes(kind));
}

/** Values that the operators above compute of what the node gives out, those of the same SELECT. */
export function valuesAboveOf(root: Logical): ReadonlyMap<Logical, readonly Value[]> {
  const found = new Map<Logical, readonly Value[]>();
  const visit = (node: Logical, above: readonly Value[]): void => {
    found.set(node, above);
    const own = node.kind === 'derive' ? valuesOf(node) : [...above, ...valuesOf(node)];
    for (const input of inputsOf(node)) visit(input, own);
  };
  visit(root, []);
  return found;
}
