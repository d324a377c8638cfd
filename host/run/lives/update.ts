/** Foretells the changes that an update makes to the state of a rule. */
import type { RuleDefinition } from '../../model/engine.js';
import type { KeptChanges, KeptOperator } from '../../model/kept.js';
import { keptChanges } from '../link/kept-changes.js';
import type { Entry } from './rule-entry.js';

export interface UpdateHost {
  /** Operators whose state a rule keeps from one run to the next; throws when it can't be planned. */
  planned(rule: RuleDefinition): Iterable<KeptOperator>;
  /** Whether the state of the rule survives the end of a run. */
  isKept(rule: RuleDefinition): boolean;
}

const inMemory = 'the state of the rule is in memory alone (option qos 0 without enableSaveStateBeforeStop)';
const notKept = 'the new definition keeps no state (option qos 0 without enableSaveStateBeforeStop)';

/**
 * State that goes over to another definition, and state that is lost. Throws HaumeaError when that can't be planned.
 */
export function updateOf({ definition, state, kept }: Entry, rule: RuleDefinition, host: UpdateHost): KeptChanges {
  const after = [...host.planned(rule)];
  const before = [...(kept ?? former(definition, host))];
  const wasKept = host.isKept(definition);
  if (wasKept && host.isKept(rule)) return keptChanges(before, after);
  // A rule that does not run has nothing in memory.
  const isLive = !state.startsWith('stopped');
  const there = wasKept ? before : isLive ? before.filter(({ isOutput }) => isOutput !== true) : [];
  const reason = wasKept ? notKept : inMemory;
  const { kept: had } = keptChanges(there, before);
  return { kept: [], lost: had.map((what) => `${what}: ${reason}`), empty: [] };
}

/**
 * Operators with state of the former definition; none when it can't be planned any more, since a stream has changed.
 */
function former(definition: RuleDefinition, host: UpdateHost): Iterable<KeptOperator> {
  try {
    return host.planned(definition);
  } catch {
    return [];
  }
}
