/** The table of the kinds of nodes. */

import { kinds } from './gen/kinds.js';
import type { Kind, NodeKind } from './node.js';

/** The record of the node's kind. */
export function kindOf<K extends Kind>({ kind }: { kind: K }): NodeKind<K> {
  return kinds[kind];
}
