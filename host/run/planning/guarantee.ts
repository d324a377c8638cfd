/** Guarantee for each row of a rule when the engine is killed at any moment, by its sources, sinks and `qos`. */
import type { NodePlan, WindowPlan } from '../../../kernels/plan/ir.js';
import { isBatch } from '../../../kernels/plan/output-plan.js';
import type { Return } from '../../connectors/define.js';
import { connectorFor } from '../../connectors/index.js';
import { feeds, topicUse } from '../../connectors/topic-use.js';
import type { SinkSpec, SourceSpec } from '../link/protocol.js';

/** `nothing`: rows may be missing, and others may come twice. */
export type Guarantee = 'nothing' | 'at most once' | 'at least once' | 'exactly once';

export interface Guaranteed {
  readonly guarantee: Guarantee;
  /** Reasons why the guarantee is no stronger, a sentence each. */
  readonly because: readonly string[];
  /** Conditions that other systems have to meet, a sentence each. */
  readonly provided: readonly string[];
}

/** A rule that writes to topics within the engine. */
export interface Writer {
  readonly rule: string;
  readonly qos: number;
  readonly sources: readonly SourceSpec[];
  readonly sinks: readonly SinkSpec[];
}

/**
 * Guarantee of a rule that reads these streams; tables are read anew and don't count. `nodes` are the nodes of its
 * plan, `writersOf` finds the rules that feed a stream. With `hasLogs` an input log knows what a broker sends again: a
 * node of a cluster, whose rules move, has none.
 */
export function guaranteeOf(
  qos: number,
  sources: readonly SourceSpec[],
  sinks: readonly SinkSpec[],
  nodes: readonly NodePlan[] = [],
  writersOf: (source: SourceSpec) => readonly Writer[] = () => [],
  hasLogs = true,
): Guaranteed {
  if (qos === 0) return { guarantee: 'nothing', because: ['the option qos is 0'], provided: [] };
  let isInOrder = sources.length === 1 && nodes.length > 0 && areRepeatable(nodes);
  const lost: string[] = [];
  const repeated: string[] = [];
  const provided: string[] = [];
  for (const source of sources) {
    if (backOf(source) !== 'position') isInOrder = false;
    const ofSource = shortfallOf(source, { writersOf, hasLogs }, []);
    lost.push(...ofSource.lost);
    provided.push(...ofSource.provided);
    repeated.push(...ofSource.repeated);
  }
  for (const { type, props, cache, getsLetters } of sinks) {
    if (getsLetters === true) continue;
    const ofCache = cache && 'what went through a cache is not taken back';
    const { sink } = connectorFor('sink', type);
    const reason = ofCache ?? sink?.staysSent(props);
    if (!hasLogs && (sink?.ownFiles ?? []).length > 0) {
      provided.push(`sink ${type}: its file is on a file system that all nodes of the cluster share`);
    }
    const numbers = qos > 1 && ofCache === undefined ? sink?.numbersIn(props) : undefined;
    const known = numbers && `; receivers know it by the ${numbers}`;
    const unknown = numbers && `; the ${numbers} does not tell, since the rows may come in another order then`;
    if (reason !== undefined) repeated.push(`sink ${type}: ${reason}${(isInOrder ? known : unknown) ?? ''}`);
  }
  // Output since the last checkpoint stays sent, while the state goes back.
  const again = qos === 1 ? ['the option qos is 1'] : repeated;
  const isSafe = lost.length === 0;
  if (again.length > 0)
    return { guarantee: isSafe ? 'at least once' : 'nothing', because: [...lost, ...again], provided };
  return { guarantee: isSafe ? 'exactly once' : 'at most once', because: lost, provided };
}

function backOf({ type, props }: SourceSpec): Return {
  return connectorFor('source', type).source?.rewinds(props) ?? { no: 'it is unknown' };
}

/** Reasons, a sentence each. */
interface Shortfall {
  readonly lost: string[];
  readonly provided: string[];
  readonly repeated: string[];
}

/**
 * Why rows of a stream may be lost, and what others do so that they are not, and come once. Rules that feed it are
 * followed to what they read.
 */
function shortfallOf(
  source: SourceSpec,
  among: { readonly writersOf: (source: SourceSpec) => readonly Writer[]; readonly hasLogs: boolean },
  /** The rules on the way here. */
  path: readonly string[],
): Shortfall {
  const back = backOf(source);
  const of = `stream ${source.name}`;
  if (typeof back === 'object' && 'no' in back) return { lost: [`${of}: ${back.no}`], provided: [], repeated: [] };
  if (typeof back === 'object') {
    const again = `${of}: messages may come again that a checkpoint has`;
    return {
      lost: [],
      provided: [`${of}: ${back.provided}`],
      repeated: back.mayRepeat === true || !among.hasLogs ? [again] : [],
    };
  }
  const lost: string[] = [];
  const provided: string[] = [];
  const repeated: string[] = [];
  if (back === 'position') return { lost, provided, repeated };
  const writers = among.writersOf(source);
  if (writers.length === 0) lost.push(`${of}: no rule writes to its topic`);
  for (const { rule, qos, sources, sinks } of writers) {
    const why = `${of}: rule ${rule}, which writes to it,`;
    const isCached = sinks.some(({ type, cache }) => type === source.type && cache !== undefined);
    if (path.includes(rule)) lost.push(`${why} reads in the end what it writes`);
    else if (qos === 0) lost.push(`${why} has the option qos 0`);
    else if (isCached) lost.push(`${why} does so through a cache`);
    else if (getsLetters(sinks, source)) lost.push(`${why} may send it dead letters, which are not made again`);
    else {
      const further = sources.map((one) => shortfallOf(one, among, [...path, rule]));
      const told = (reason: string) => `${of}: rule ${rule}, ${reason}`;
      lost.push(...further.flatMap((one) => one.lost.map(told)));
      provided.push(...further.flatMap((one) => one.provided.map(told)));
      repeated.push(...further.flatMap((one) => one.repeated.map(told)));
    }
  }
  return { lost, provided, repeated };
}

function getsLetters(sinks: readonly SinkSpec[], source: SourceSpec): boolean {
  const letters = sinks.filter((sink) => sink.getsLetters === true);
  return feeds(topicUse({ sources: [], sinks: letters }), topicUse({ sources: [source], sinks: [] }));
}

/** Nodes that make the same of the same rows in the same order, whenever that is. */
const repeatable: ReadonlySet<NodePlan['kind']> = new Set([
  'filter',
  'eventTime',
  'late',
  'window',
  'sort',
  'analytic',
  'limit',
  'expand',
  'encode',
]);

/** The clock says when what is in a window is forgotten. */
function forgets(window: WindowPlan): boolean {
  return 'ttlMs' in window && (window.ttlMs ?? 0) > 0;
}

/** Whether equal rows give equal messages again, as far as the functions of the rule do. */
function areRepeatable(nodes: readonly NodePlan[]): boolean {
  return nodes.every((node) => {
    if (node.kind === 'window') return (node.isEventTime || node.window.kind === 'count') && !forgets(node.window);
    if (node.kind === 'encode') return !isBatch(node.output);
    return repeatable.has(node.kind);
  });
}
