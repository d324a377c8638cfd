/** Physical plan: nodes for the kernel, and the steps of the topology that the interface shows. */
import type { ColumnUse, NodePlan } from '../../../kernels/plan/ir.js';
import type { Source } from '../values/source.js';
import type { ColumnValue, Value } from '../values/value.js';

/** A step of the topology and the nodes that do its work. */
export interface Step {
  kind:
    | 'watermark'
    | 'late'
    | 'analytic'
    | 'windowFilter'
    | 'filter'
    | 'window'
    | 'join_aligner'
    | 'join'
    | 'lookup'
    | 'delay'
    | 'call'
    | 'dedup_trigger'
    | 'pattern'
    | 'aggregate'
    | 'having'
    | 'order'
    | 'union'
    | 'project'
    | 'projectset';
  nodes: number[];
  /** Name of a lookup's table in the statement. */
  table?: string;
  /** Inputs of a union. */
  inputs?: Chain[];
}

/** A function that answers later, by its number. */
export interface AskedFunction {
  readonly call: number;
}

/** Steps one after the other, from where the rows come in. */
export interface Chain {
  /** Streams and scan tables; none where a union is the first step. */
  sources: Source[];
  steps: Step[];
  /** The node of another chain from which the rows branch off. */
  from?: number;
  /** Indexes of the actions whose sinks get the rows at the end; absent: all. */
  actions?: readonly number[];
}

export interface Physical {
  /** Columns that the rule needs of each source. */
  columns: ColumnValue[][];
  /** Uses of these columns; for objects, only the members that the rule reads. */
  uses: ColumnUse[][];
  /** Columns that are read from each source; for a lookup table, all columns that it keeps. */
  read: ColumnUse[][];
  /** Tables and functions that are asked, as nodes number them. */
  asked: readonly (Source | AskedFunction)[];
  nodes: NodePlan[];
  /** One for each SELECT whose rows go to the sinks. */
  chains: Chain[];
  /** Nodes that do the work of each node of a graph. */
  labelled: Map<string, number[]>;
  /** Encode nodes of each action; several where a sink of a graph has several inputs. */
  encoders: number[][];
  /** Values in the output batches of nodes, by node; encode nodes and ports are left out. */
  rows: Map<number, readonly (Value | null)[]>;
}
