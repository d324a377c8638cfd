import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const filter: NodeKind<'filter'> = {
  show: ({ program, condition }) => [...showOps(program), `keep ${shower(program)(condition)}`],
  rows({ input, condition: operand, isWhole }, at) {
    const condition = at.value(operand);
    const above = at.rowsOf(input);
    // It computes values for others.
    if (condition.kind === 'const' && condition.value.tag === 'bool' && condition.value.value) return above;
    const key = at.together('filter', above.key, condition, isWhole === true);
    return at.added(input, key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${at.text(condition)}`);
  },
};
