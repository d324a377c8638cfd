/**
 * Start of a source whose rules go on from several places: at the first place, or at its own begin when a rule has
 * none.
 */

import { reasonOf } from '../../../../base/errors.js';
import type { Source } from '../../../../connectors/running.js';
import type { RunningRule, RunningSource } from '../../running/running.js';
import type { Places } from './places.js';

/** Rewinds the source. To be called before it is open, when all rules that start together are there. */
export function startAt(source: RunningSource, places: Places, connector: Source): void {
  const readers = [...source.users].filter((rule) => !rule.isTable(source));
  const groups = new Map<string, RunningRule[]>();
  for (const rule of readers) {
    const key = JSON.stringify(places.of(rule) ?? null);
    groups.set(key, [...(groups.get(key) ?? []), rule]);
  }
  const placed = readers.filter((rule) => places.has(rule));
  if (placed.length === 0) {
    places.share(readers);
    return;
  }
  const all = [...groups.values()];
  const reached = (group: readonly RunningRule[]) => {
    // Some rules may have ended meanwhile.
    places.reached(group.filter((rule) => source.users.has(rule)));
    places.share(group);
  };
  const isApart = all.length > 1 && connector.seekAll !== undefined && places.wait(placed);
  if (!isApart) {
    if (connector.seekAll !== undefined && all.length === 1)
      tryTo(source, () => connector.seekAll?.([places.of(placed[0]!)], () => {}));
    for (const group of all) reached(group);
    return;
  }
  tryTo(source, () =>
    connector.seekAll?.(
      all.map(([rule]) => places.of(rule!)),
      (index) => reached(all[index]!),
    ),
  );
}

/** Logs a failure alone, since each place was checked when its rule came. */
function tryTo({ label, log }: RunningSource, seek: () => void): void {
  try {
    seek();
  } catch (error) {
    log.warn(`${label} can't go on where it was: ${reasonOf(error)}`);
  }
}
