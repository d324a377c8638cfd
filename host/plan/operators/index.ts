/** The table of the kinds of operators, and what is asked of any of them. */
import type { Logical } from '../logical.js';
import type { Relation } from '../source.js';
import type { Value } from '../value.js';
import { analytic } from './analytic.js';
import { asof } from './asof.js';
import { call } from './call.js';
import { compute } from './compute.js';
import { dedup } from './dedup.js';
import { delay } from './delay.js';
import { derive } from './derive.js';
import { expand } from './expand.js';
import { filter } from './filter.js';
import { hits } from './hits.js';
import { interval } from './interval.js';
import { join } from './join.js';
import { late } from './late.js';
import { limit } from './limit.js';
import { lookup } from './lookup.js';
import { merge } from './merge.js';
import type { Kind, Level, OperatorKind } from './operator.js';
import { project } from './project.js';
import { sort } from './sort.js';
import { source } from './source.js';
import { watermark } from './watermark.js';
import { window } from './window.js';

const kinds: { readonly [K in Kind]: OperatorKind<K> } = {
  source,
  merge,
  watermark,
  late,
  derive,
  join,
  asof,
  interval,
  lookup,
  delay,
  call,
  dedup,
  compute,
  analytic,
  hits,
  filter,
  window,
  sort,
  limit,
  expand,
  project,
};

/** The record of the operator's kind. */
export function kindOf<K extends Kind>({ kind }: { kind: K }): OperatorKind<K> {
  return kinds[kind];
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

/** Sentences for what an operator makes grow with the square of the input. */
export function growthOf(node: Logical, level: Level): readonly string[] {
  return kindOf(node).growth?.(node, level) ?? [];
}
