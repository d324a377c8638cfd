/**
 * What each kind of operator does with columns and rows, in one place: all that reason about a tree of nodes ask here.
 * A kind that is missing does not compile.
 */
import type { NodePlan } from './ir.js';

type Kind = NodePlan['kind'];

interface Traits<Plan> {
  /** Column i of the output is column i of the input. Otherwise the node makes columns of its own. */
  readonly passesColumns: boolean;
  /** Rows that come alone, not as part of a message, go on alone. */
  readonly passesRows: boolean;
  /** Rows stay in the node when the message that they came in is worked off: what comes out is bound to no message. */
  readonly keepsRows: boolean | ((plan: Plan) => boolean);
  /** Many rows are worked on at once, so that one batch may take long. */
  readonly worksOnMany: boolean;
}

const kinds: { readonly [K in Kind]: Traits<Extract<NodePlan, { kind: K }>> } = {
  filter: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  limit: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  expand: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: true },
  eventTime: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false },
  late: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: false },
  analytic: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  hits: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  merge: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
  port: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
  window: {
    passesColumns: false,
    passesRows: false,
    keepsRows: ({ window }) => window.kind !== 'row',
    worksOnMany: true,
  },
  join: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: true },
  asof: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false },
  interval: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: true },
  keyedTable: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
  lookup: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: true },
  ask: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: true },
  dedup: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false },
  sort: { passesColumns: true, passesRows: false, keepsRows: false, worksOnMany: true },
  encode: { passesColumns: false, passesRows: false, keepsRows: false, worksOnMany: false },
};

/** Says whether rows of the input go on one by one through nodes of the kind. */
export function passesRows(kind: Kind): boolean {
  return kinds[kind].passesRows;
}

/** Says whether one batch may keep nodes of the kind at work for long. */
export function worksOnMany(kind: Kind): boolean {
  return kinds[kind].worksOnMany;
}

/** Says whether rows stay in the node when the message that they came in is worked off. */
export function keepsRows<K extends Kind>(plan: Extract<NodePlan, { kind: K }>): boolean {
  const { keepsRows: keeps }: Traits<Extract<NodePlan, { kind: K }>> = kinds[plan.kind as K];
  return typeof keeps === 'boolean' ? keeps : keeps(plan);
}

/**
 * Says whether the node keeps something for each of the values that rows are partitioned by, or joined by as of their
 * time.
 */
export function keepsPartitions(plan: NodePlan): boolean {
  if (plan.kind === 'window') return 'partition' in plan.window && (plan.window.partition?.length ?? 0) > 0;
  return plan.kind === 'analytic' || plan.kind === 'asof';
}

/**
 * The source whose columns a node's operands number, or null when an operator between them made columns of its own:
 * nodes below operators that pass columns on need the column map of the source, too.
 */
export function sourceOfColumns(nodes: readonly NodePlan[], node: NodePlan): number | null {
  let { input } = node;
  while (input !== null && 'node' in input) {
    const parent = nodes[input.node];
    if (parent === undefined || !kinds[parent.kind].passesColumns) return null;
    input = parent.input;
  }
  return input === null ? null : input.source;
}
