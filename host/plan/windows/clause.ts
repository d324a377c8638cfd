/** Windows of a statement: checks of their clauses, and the groups of messages. */

import type { HaumeaError } from '../../base/errors.js';
import { nearest } from '../../base/text/nearest.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { Expr, Select, Span } from '../../sql/ast.js';
import { windowKinds } from '../../sql/keywords.js';
import { windowErrors } from '../errors/window.js';
import type { Logical, WindowNode, WindowSpec } from '../logical/logical.js';
import type { Value, Values } from '../values/value.js';
import { kindOf } from './index.js';

/** Groups the rows of each message by themselves: behind a window, whose messages they are. */
export function messageGroups(
  input: Logical,
  keys: Value[],
  values: Values,
  times: Pick<Extract<WindowSpec, { kind: 'message' }>, 'start' | 'end' | 'trigger'> = windowTimes(values),
): WindowNode {
  return {
    kind: 'window',
    input,
    window: { kind: 'message', ...times },
    timestamp: null,
    where: null,
    keys,
    isGrouped: true,
    sendEmpty: false,
  };
}

export function windowTimes(values: Values): { start: Value; end: Value; trigger: Value } {
  return { start: values.window('start'), end: values.window('end'), trigger: values.window('trigger') };
}

/** The times of messages whose windows belong to the SELECT below. */
export function noTime(values: Values): { start: Value; end: Value; trigger: Value } {
  const none = values.constant({ tag: 'i64', value: 0n });
  return { start: none, end: none, trigger: none };
}

/** Checks that the window goes with the rule's options and the other clauses; throws `plan` errors if not. */
export function checkWindow(
  { window, groupBy }: Pick<Select, 'window' | 'groupBy'>,
  rule: RuleDefinition,
  isOfMessages = false,
): void {
  if (window === null) {
    const [first] = groupBy;
    if (first !== undefined && !isOfMessages) throw needsWindow(groupBy, first.span);
    return;
  }
  if (rule.options.sendMetaToSink) throw windowErrors.sendMeta('a window');
  if (kindOf(window).hasNoEventTime && rule.options.isEventTime) {
    throw windowErrors.eventTime(window.kind.toUpperCase(), window.span);
  }
  if (window.over === null) return;
  const { partitionBy, orderBy, when } = window.over;
  if (orderBy.length > 0) throw windowErrors.orderBy(window.span);
  if (when !== null && !kindOf(window).hasTrigger) throw windowErrors.overWhen(window.span);
  if (partitionBy.length > 0 && kindOf(window).isAligned) {
    const name = window.kind.toUpperCase();
    throw windowErrors.partitionByClock(name, window.span);
  }
}

/** A window whose name is mistyped is a function that nobody knows. */
function needsWindow(groupBy: readonly Expr[], span: Span): HaumeaError {
  const calls = groupBy.flatMap((expr) => (expr.kind === 'call' ? [expr] : []));
  for (const { name, span: place } of calls) {
    const meant = nearest(name, windowKinds.keys());
    if (meant !== undefined) return windowErrors.groupByOr(meant, place);
  }
  return windowErrors.groupBy(span);
}
