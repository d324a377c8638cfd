/** Nodes that leave what they know of the rows before in registers: functions that look back, counts of rows that passed. */
import { type AnalyticPlan, NONE, type NodePlan, type Operand, reg } from '../../kernels/ir.js';
import type { RuleDefinition } from '../model/engine.js';
import type { Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { AnalyticValue, Value } from './value.js';

/** The node of functions that look back; the path knows their results then. */
export function analyticNode(
  values: readonly AnalyticValue[],
  path: Path,
  { stateTtlMs }: Pick<RuleDefinition['options'], 'stateTtlMs'>,
): NodePlan {
  const builder = new ProgramBuilder(path);
  const operand = (value: Value): Operand => builder.operand(value);
  const functions = values.map(({ fn, args, size, partition, when }): AnalyticPlan => {
    const plan = { fn, args: args.map(operand), size, partition: partition.map(operand), dst: 0 };
    return when === null ? plan : { ...plan, when: operand(when) };
  });
  values.forEach((value, i) => {
    const dst = path.takeRegister();
    functions[i]!.dst = dst;
    path.keep(value, reg(dst));
  });
  // What has no partitions is kept as long as the rule runs.
  const ttlMs = values.some(({ partition }) => partition.length > 0) ? stateTtlMs : 0;
  return { kind: 'analytic', input: path.input, program: builder.finishOrNull(), functions, ttlMs, name: 'analytic' };
}

/** What the operators are called that count hits for a clause; the one before a window is no step of its own. */
export const hitSteps = { where: 'filter', filter: 'windowFilter', having: 'having', over: null } as const;

/** What those above know of the node that counts hits. */
export function toldBy({ hits, condition, clause }: Extract<Logical, { kind: 'hits' }>): Value[] {
  return clause === 'over' && condition !== null ? [...hits, condition] : [...hits];
}

/** The node that counts hits; the path knows the counts before it judges. */
export function hitsNode(
  { hits, condition, clause, time }: Extract<Logical, { kind: 'hits' }>,
  path: Path,
  name: string,
): NodePlan {
  const registers = { count: path.takeRegister(), time: path.takeRegister() };
  for (const hit of hits) path.keep(hit, reg(registers[hit.part]));
  const builder = new ProgramBuilder(path);
  const when = time.kind === 'const' ? NONE : builder.operand(time);
  const judged = condition === null ? NONE : builder.operand(condition);
  const program = builder.finishOrNull();
  const result = condition !== null && clause === 'over' ? path.takeRegister() : null;
  if (condition !== null && result !== null) path.keep(condition, reg(result));
  return { kind: 'hits', input: path.input, program, condition: judged, ...registers, when, judged: result, name };
}
