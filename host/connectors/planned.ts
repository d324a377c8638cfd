/**
 * Connectors that eKuiper has and this engine hasn't yet: connections, configuration keys and lookup tables of theirs
 * are checked and kept, a rule that needs one is refused by its name. A connector leaves this list with its folder.
 */
import type { LookupDeclaration } from './define.js';

export interface PlannedConnector {
  /** Connections of this type may be named. */
  readonly isConnection?: true;
  readonly lookup?: LookupDeclaration;
  /** See `SourceDeclaration`. */
  readonly defaultKey?: Readonly<Record<string, unknown>>;
}

export const plannedConnectors: Readonly<Record<string, PlannedConnector>> = {};
