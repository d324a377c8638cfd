import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const analytic: NodeKind<'analytic'> = {
  show({ program, functions }) {
    const show = shower(program);
    const shown = functions.map(({ fn, args, size, partition, when, dst }) => {
      const by = partition.length === 0 ? '' : ` by [${partition.map(show).join(' ')}]`;
      const condition = when === undefined ? '' : ` when ${show(when)}`;
      return `r${dst} = ${fn}(${args.map(show).join(' ')})${size > 0 ? ` #${size}` : ''}${by}${condition}`;
    });
    return [...showOps(program), ...shown];
  },
  gives({ functions }, { input, value, valuesOf, values }) {
    for (const { fn, args, size, partition, when, dst } of functions) {
      const condition = when === undefined ? null : value(when);
      const over = valuesOf(partition);
      input.set(dst, values.analytic(fn, valuesOf(args), size, over, condition));
    }
    return input;
  },
  keeps({ functions, input }, at) {
    const { key, words } = at.rowsOf(input);
    // Nothing else writes the registers of the node.
    const values = functions.map(({ dst }) => at.value(dst));
    const lists = [at.list('functions', values)];
    return { key: at.together('analytic', key), what: at.texts(values), rows: words, lists };
  },
};
