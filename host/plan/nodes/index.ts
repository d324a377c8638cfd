/** The table of the kinds of nodes. */
import { analytic } from './analytic.js';
import { asof } from './asof.js';
import { dedup } from './dedup.js';
import { encode } from './encode.js';
import { eventTime } from './event-time.js';
import { expand } from './expand.js';
import { filter } from './filter.js';
import { hits } from './hits.js';
import { interval } from './interval.js';
import { join } from './join.js';
import { keyedTable } from './keyed-table.js';
import { late } from './late.js';
import { limit } from './limit.js';
import { ask, lookup } from './lookup.js';
import { merge } from './merge.js';
import type { Kind, NodeKind } from './node.js';
import { port } from './port.js';
import { sort } from './sort.js';
import { window } from './window.js';

const kinds: { readonly [K in Kind]: NodeKind<K> } = {
  filter,
  limit,
  expand,
  encode,
  window,
  eventTime,
  late,
  dedup,
  sort,
  analytic,
  hits,
  merge,
  port,
  join,
  asof,
  interval,
  keyedTable,
  lookup,
  ask,
};

/** The record of the node's kind. */
export function kindOf<K extends Kind>({ kind }: { kind: K }): NodeKind<K> {
  return kinds[kind];
}
