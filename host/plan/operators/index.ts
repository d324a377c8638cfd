/** The tables of the kinds of operators and nodes, and functions that hold for any operator. */
import type { Logical } from '../logical/logical.js';
import type { NodeKind, Kind as NodeName } from '../nodes/node.js';
import type { Relation } from '../values/source.js';
import type { Value } from '../values/value.js';
import { kinds } from './gen/kinds.js';
import { nodeKinds } from './gen/nodes.js';
import type { Kind, Level, OperatorKind } from './operator.js';

/** The record of the operator's kind. */
export function kindOf<K extends Kind>({ kind }: { kind: K }): OperatorKind<K> {
  return kinds[kind];
}

/** The record of the node's kind. */
export function nodeKindOf<K extends NodeName>({ kind }: { kind: K }): NodeKind<K> {
  return nodeKinds[kind];
}

/** Values that an operator itself computes. */
export function valuesOf(node: Logical): readonly Value[] {
  return kindOf(node).values(node);
}

/** The operator with each of its values replaced by what `map` returns for it, but times of rows. */
export function mapOwnValues(node: Logical, map: (value: Value) => Value): Logical {
  return kindOf(node).map(node, map);
}

/** Relations whose columns an operator brings. */
export function relationsOf(node: Logical): readonly Relation[] {
  return kindOf(node).relations?.(node) ?? [];
}

/** Warnings about work or output of an operator that grows with the square of the input, one sentence each. */
export function growthOf(node: Logical, level: Level): readonly string[] {
  return kindOf(node).growth?.(node, level) ?? [];
}
