/** Entries of the host for the streams and nodes of the kernel. */
import type { NodeHandle, SavedAs, StreamHandle } from './api.js';
import type { ColumnType, ColumnUse } from './plan/ir.js';

/** A node in use and how often. */
export interface NodeEntry {
  /** Node or stream above, 0 for a merge node. */
  parent: number;
  /** Node that a port gives its rows to, or the table of a lookup; 0 for others. */
  readonly target: number;
  /** Branches of the merge node whose rows come here, 1 without one. */
  readonly branches: number;
  /** Key in `shared`, null for nodes that are never shared. */
  readonly key: string | null;
  /** Place of the node's rule in the stream, see `LinkedNode`. */
  place: string | undefined;
  uses: number;
  children: number;
  /** Ports that give their rows to the node, lookups in it, in the order of their making; undefined before any. */
  ports: Set<NodeHandle> | undefined;
  /** Identity of its state; undefined: it is not saved. */
  saved: SavedAs | undefined;
}

/** The members that a rule reads of a column, and how many rules do. */
export interface Reader {
  readonly type: ColumnType;
  count: number;
}

export interface StreamEntry {
  /** Address of the kernel's inlet of the stream. */
  readonly inlet: number;
  readonly identity: bigint;
  /** Columns by their index in the batch. */
  readonly columns: ColumnUse[];
  /** Members that rules read of columns that are objects, by index of the column. */
  readonly readers: Map<number, readonly Reader[]>;
  children: number;
}

export type Streams = ReadonlyMap<StreamHandle, StreamEntry>;
export type Nodes = ReadonlyMap<NodeHandle, NodeEntry>;
