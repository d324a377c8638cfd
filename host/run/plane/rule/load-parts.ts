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
  const { sources, sinks, lookups = [], portables, inputLogs, checkpoint, trace, hands } = start;
  if (lookups.length > 0 || [portables, inputLogs, checkpoint, trace, hands].some((part) => part !== undefined))
    return false;
  return sources.every((spec) => loaded.has(spec)) && sinks.every((spec) => loaded.has(spec));
}

export async function loadParts(start: RuleStart, askedPart: (type: string) => AskedPart): Promise<void> {
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
