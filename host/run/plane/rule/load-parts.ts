/** Loads the code that a rule needs. */
import type { AskedPart } from '../../../connectors/define.js';
import { loadConnector, loadManifests } from '../../../connectors/loaded.js';
import type { RuleStart } from '../../link/protocol.js';
import { loadSourceParts } from '../input/sources.js';
import { loadSinkFormat, loadSinkParts } from '../output/sink-parts.js';

export async function loadParts(start: RuleStart, askedPart: (type: string) => AskedPart): Promise<void> {
  const { sources, sinks, lookups = [] } = start;
  await loadManifests([...sources, ...sinks, ...lookups].map(({ type }) => type));
  await Promise.all([
    loadSinkParts(sinks),
    loadSourceParts(start),
    ...sinks.flatMap((spec) => [loadConnector('sink', spec.type), loadSinkFormat(spec)]),
    ...lookups.flatMap(({ type, call }) => (call === undefined ? askedPart(type).load() : [])),
  ]);
}
