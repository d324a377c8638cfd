/** Switch nodes: each output takes the rows of one case. */

import type { GraphNode } from '../../model/engine.js';
import { nodeErrors } from '../errors/node.js';
import type { Logical } from '../logical/logical.js';
import { withAnalyticsAt } from '../statement/analytic.js';
import { aggregatesIn, type Value } from '../values/value.js';
import { messageGroups } from '../windows/clause.js';
import { passed } from './operators.js';
import { binderAt, type Context, clauseAt, localNames, type Point } from './point.js';
import * as props from './props.js';

/**
 * A switch at its place. Rows and groups go each by themselves, the rows of a window go together: as the first of them
 * says, or aggregates over them.
 */
export class Switch {
  private readonly input: Point;
  private readonly conditions: readonly Value[];

  /** @param given where its rows come from. Throws `plan` errors that name the property. */
  constructor(
    private readonly node: GraphNode,
    given: Point,
    private readonly context: Context,
  ) {
    const input = passed(node, given, []);
    const { binder } = binderAt(given, context, node.name);
    const place = clauseAt(given, 'cases');
    const isOfRows = given.flow === 'rows';
    const clause = { ...place, hasAggregates: !isOfRows, hasAnalytics: place.hasAnalytics && isOfRows };
    this.conditions = props.cases(node).map((expr) => binder.condition(localNames(expr, given), clause));
    this.input = { ...input, operator: withAnalyticsAt(input.operator, node.name, this.conditions) };
  }

  /** Point after an output of the switch. */
  output(index: number): Point {
    const { input: point, node, context } = this;
    const condition = this.conditionOf(index);
    const isWhole = point.flow === 'a collection';
    const shown = isWhole ? aggregatesIn(condition) : [];
    const input: Logical =
      shown.length === 0
        ? point.operator
        : { ...messageGroups(point.operator, [], context.values), isGrouped: false, shown };
    return { ...point, operator: { kind: 'filter', input, condition, clause: 'case', isWhole, labels: [node.name] } };
  }

  private conditionOf(index: number): Value {
    const own = this.conditions[index];
    if (own === undefined) throw nodeErrors.outputWithoutCase(index);
    if (this.node.props.stopAtFirstMatch !== true || index === 0) return own;
    // CASE takes a condition without an answer as not met, which NOT would keep without an answer.
    const { values } = this.context;
    const no = values.constant({ tag: 'bool', value: false });
    return values.op('logic.case', [], [...this.conditions.slice(0, index).flatMap((met) => [met, no]), own]);
  }
}
