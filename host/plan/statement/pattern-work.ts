/** The work of the planner for patterns: their nodes, and their line in EXPLAIN. */
import type { MatchAggregatePlan } from '../../../kernels/nodes/pattern.js';
import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import { printPart } from '../../sql/match/print.js';
import { inputsOf, type Logical } from '../logical/logical.js';
import type { PatternWork } from '../operators/pattern.js';
import { ProgramBuilder } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import type { Value } from '../values/value.js';

/** The kernel counts so far. */
const mostPartials = 2 ** 32 - 1;

/** Ways by which rows come from streams. */
function sourcesOf(node: Logical): number {
  return node.kind === 'source' ? 1 : inputsOf(node).reduce((sum, input) => sum + sourcesOf(input), 0);
}

export const patternWork: PatternWork = {
  lower(node, at) {
    const { path, next: index } = at;
    const { looks } = node;
    const { maxPartialMatches, partialMatchPolicy } = at.options;
    const builder = new ProgramBuilder(path);
    const operand = (value: Value): Operand => builder.operand(value);
    const keys = node.partition.map(operand);
    const columns = node.kept.map(operand);
    const timestamp = node.timestamp === null ? undefined : operand(node.timestamp);
    const program = builder.finishOrNull();
    let inner = path.afterNew(index, looks.columns);
    const built = <T>(make: (of: ProgramBuilder) => T) => {
      const of = new ProgramBuilder(inner);
      const made = make(of);
      inner = inner.afterNew(index, looks.columns);
      return { program: of.finish(), made };
    };
    const ofRows = (isAhead: boolean) =>
      built((of) =>
        node.conditions.flatMap(({ variable, row }) =>
          row === null || looks.looksAhead(row) !== isAhead ? [] : [{ variable, operand: of.operand(row) }],
        ),
      );
    const rowConditions = ofRows(false);
    const aheadConditions = ofRows(true);
    const conditions = node.conditions.flatMap(({ variable, match }) => {
      if (match === null) return [];
      const { program: own, made } = built((of) => of.operand(match));
      return [{ variable, program: own, operand: made }];
    });
    const aggregates = looks.aggregates.map(({ value, args, filter }): MatchAggregatePlan => {
      const { fn, call } = value;
      const empty = fn === 'count' || fn === 'countAll' ? 'zero' : fn === 'collect' ? 'list' : 'null';
      const { program: own, made } = built((of) => ({
        args: args.map((arg) => of.operand(arg)),
        filter: filter === null ? null : of.operand(filter),
      }));
      return { fn, call, empty, program: own, ...made };
    });
    const { keep } = windowNeeds(at.valuesAbove(node), isNone, (value) => at.isHeld(value));
    const needed = new Set<Value>(keep);
    const outputs = node.outputs.filter(({ column }, i) => i === node.outputs.length - 1 || needed.has(column));
    const measures = built((of) => outputs.map(({ value }) => of.operand(value)));
    const from = outputs.filter((one) => node.outputs.indexOf(one) < node.measuresFrom).length;
    const plan: Extract<NodePlan, { kind: 'pattern' }> = {
      kind: 'pattern',
      input: path.input,
      program,
      isEventTime: node.timestamp !== null,
      ...(timestamp === undefined ? {} : { timestamp }),
      ...{ keys, columns, steps: [...node.automaton.steps], variables: [...node.variables] },
      looks: looks.plans,
      aggregates,
      rowConditions: { program: rowConditions.program, of: rowConditions.made },
      aheadConditions: { program: aheadConditions.program, of: aheadConditions.made },
      conditions,
      measures: { program: measures.program, outputs: measures.made, from },
      inputs: sourcesOf(node.input),
      ...{ rows: node.rows, skip: node.skip, first: node.automaton.first },
      ...{ withinMs: node.withinMs, absentMs: node.automaton.absentMs },
      mostPartial: maxPartialMatches > 0 ? maxPartialMatches : mostPartials,
      dropsOldest: partialMatchPolicy === 'dropOldest',
      ttlMs: node.partition.length > 0 ? at.options.stateTtlMs : 0,
      name: 'pattern',
    };
    at.record(plan, 'pattern');
    for (const { column } of outputs) at.held.add(column);
    at.path = inner.afterNew(
      index,
      outputs.map(({ column }) => column),
    );
  },
  explain(node, { all, show }) {
    const { automaton, variables, conditions, withinMs, skip, partition, looks } = node;
    const steps = automaton.steps.map(({ op, a = 0, b = 0 }, i) => {
      const what =
        op === 'row' || op === 'absent' ? variables[a] : op === 'split' ? `${a} or ${b}` : op === 'jump' ? a : '';
      return `${i}:${op}${what === '' ? '' : ` ${what}`}`;
    });
    const defined = conditions.map(({ variable, row, match }) => {
      const waits = [row, match].some((one) => one !== null && looks.looksAhead(one)) ? ', waits for rows behind' : '';
      const parts = [...(row === null ? [] : ['by the row']), ...(match === null ? [] : ['by the match so far'])];
      return `${variables[variable]} ${parts.join(' and ')}${waits}`;
    });
    const info = [
      `Pattern:${printPart(node.pattern, (name) => name)}`,
      ...(partition.length > 0 ? [`Partition:[ ${all(partition)} ]`] : []),
      `Skip:${skip.to}`,
      ...(withinMs > 0 ? [`Within:${withinMs} ms`] : []),
      `Conditions:[ ${defined.join(', ')} ]`,
      `Keeps:[ ${node.kept.map(show).join(', ')} ]`,
      `Automaton:[ ${steps.join(', ')} ]`,
    ];
    return [['PatternPlan', info.join(', ')]];
  },
};
