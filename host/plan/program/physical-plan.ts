/** What becomes of a plan: nodes for the kernel, and what the interface shows of them. */
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
    | 'aggregate'
    | 'having'
    | 'order'
    | 'union'
    | 'project'
    | 'projectset';
  nodes: number[];
  /** Of a lookup: what the statement calls its table. */
  table?: string;
  /** Of a union: what comes together there. */
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
  /** Whose sinks get the rows at the end, by their position in the rule; without it all. */
  actions?: readonly number[];
}

export interface Physical {
  /** What the rule needs of each source. */
  columns: ColumnValue[][];
  /** The same, of objects with the members that are looked at. */
  uses: ColumnUse[][];
  /** What is read of its stream for that: of a lookup table all that is kept. */
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
  /** What stands in the batches that nodes give on; not of encode nodes and ports. */
  rows: Map<number, readonly (Value | null)[]>;
}
