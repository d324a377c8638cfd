/** Loads the code that a rule needs. */
import type { AskedPart } from '../../../connectors/define.js';
import { loadConnector, loadManifests } from '../../../connectors/loaded.js';
import type { RuleStart } from '../../link/protocol.js';
import { loadSourceParts } from '../input/sources.js';
import { loadSinkFormat, loadSinkParts } from '../output/sink-parts.js';

/** Sources and sinks that rules of one form share, whose code is loaded. */
const loaded = new WeakSet<object>();

/** Whether a rule before had the same sources and sinks, and this one needs no more than these. */
export function isLoaded(start: RuleStart): boolean {
  const { sources, sinks } = start;
  return isUsual(start) && sources.every((spec) => loaded.has(spec)) && sinks.every((spec) => loaded.has(spec));
}

/** Whether all that a rule needs is what its sources and sinks need. */
function isUsual({ plan, lookups = [], portables, inputLogs, checkpoint, trace, hands }: RuleStart): boolean {
  if (plan.nodes.some(({ kind }) => kind === 'port')) return false;
  return lookups.length === 0 && [portables, inputLogs, checkpoint, trace, hands].every((part) => part === undefined);
}

/** Loads under way, by the sources and sinks of the rules that wait for them. */
const loads = new WeakMap<object, { readonly sinks: RuleStart['sinks']; readonly done: Promise<void> }>();

/** Loads what a rule needs; rules with the same sources and sinks that come meanwhile wait for one load. */
export function loadParts(start: RuleStart, askedPart: (type: string) => AskedPart): Promise<void> {
  const { sources, sinks } = start;
  if (!isUsual(start)) return load(start, askedPart);
  const before = loads.get(sources);
  if (before?.sinks === sinks) return before.done;
  const done = load(start, askedPart).finally(() => loads.delete(sources));
  loads.set(sources, { sinks, done });
  return done;
}

async function load(start: RuleStart, askedPart: (type: string) => AskedPart): Promise<void> {
  const { sources, sinks, lookups = [], portables, inputLogs, checkpoint } = start;
  await loadManifests([...sources, ...sinks, ...lookups].map(({ type }) => type));
  await Promise.all([
    loadSinkParts(sinks),
    loadSourceParts(start),
    ...sinks.flatMap((spec) => [loadConnector('sink', spec.type), loadSinkFormat(spec)]),
    ...lookups.flatMap(({ type, call }) => (call === undefined ? askedPart(type).load() : [])),
  ]);
  // Input logs and places are of one rule; plugins come and go.
  if (portables !== undefined || inputLogs !== undefined || checkpoint !== undefined) return;
  for (const spec of [...sources, ...sinks]) loaded.add(spec);
}
