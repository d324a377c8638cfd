import type { NodeKind } from './node.js';
import { numbered, showCondition, shower, showKeys, showOps } from './text.js';

export const interval: NodeKind<'interval'> = {
  show({ program, type, left, bounds: { leastMs, mostMs }, time, keys, condition, lefts, rights }) {
    const show = shower(program);
    return [
      ...showOps(program),
      `${type} join branch ${left} with the other from ${leastMs}ms to ${mostMs}ms at c${time}${showKeys(keys, show)}`,
      ...showCondition(condition),
      `give ${numbered([...lefts, ...rights].map(show))}`,
    ];
  },
  gives: ({ lefts, rights }, { value, own, listed }) =>
    listed([...[...lefts, ...rights].map((operand) => () => value(operand)), () => own('#time')]),
  rows({ input, type, left, keys, bounds, condition }, at) {
    const pairs = keys.flatMap((key) => at.valuesOf([key.left, key.right]));
    const on = condition === null ? null : at.conditionBelow(condition.program, condition.operand);
    const { leastMs, mostMs } = bounds;
    const key = at.together('interval', at.rowsOf(input).key, type, left, pairs, leastMs, mostMs, on);
    return at.added(input, key, 'JOIN');
  },
  keeps({ lefts, rights }, at) {
    const { key, words } = at.rows();
    const lists = [at.list('values', at.valuesOf(lefts)), at.list('values', at.valuesOf(rights))];
    return { key: at.together('interval', key), what: 'the rows of the JOIN', rows: words, lists };
  },
};
