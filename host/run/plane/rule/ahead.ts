/** What is read while rules still run in the data plane from which they are about to come. */
import { loadConnector } from '../../../connectors/loaded.js';
import type { AheadOfRules } from '../../link/moving.js';
import { loadHanded, loadPlaces } from '../input/source-parts.js';
import type { PlaneHost } from '../running/running.js';
import { ReadAhead } from '../state/checkpoint/ahead.js';

/** Resolves when all is read, or can't be: the start of the rule tells why. */
export async function readAhead({ sources, sinks, rows }: AheadOfRules, host: PlaneHost): Promise<void> {
  const connectors = [
    ...sources.map((type) => loadConnector('source', type)),
    ...sinks.map((type) => loadConnector('sink', type)),
  ];
  const state = [import('../state/checkpoint/rule-checkpoints.js'), loadPlaces(), loadHanded()];
  await Promise.allSettled([...connectors, ...state]);
  for (const one of rows) await ReadAhead.of(host).read(one);
}
