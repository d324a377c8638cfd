import type { NodeKind } from './node.js';

export const merge: NodeKind<'merge'> = {
  show: ({ branches }) => [`branches of ${branches.join(', ')} columns`],
  gives({ branches }, { own, portColumn, derived }) {
    const heads = [own('#branch'), own('#time')];
    return derived((i) => {
      const head = heads[i];
      if (head !== undefined) return head;
      let first = heads.length;
      for (const [branch, count] of branches.entries()) {
        if (i < first + count) return portColumn(branch, i - first);
        first += count;
      }
      return own('#none');
    });
  },
  rows(_node, at) {
    const ports = at.ports().map((port) => at.rowsOf(port.input));
    return {
      key: at.together('merge', ...ports.map(({ key }) => key)),
      words: ports.flatMap(({ words }) => words),
      isOfMessages: ports.some(({ isOfMessages }) => isOfMessages),
    };
  },
  keeps: (_node, at) => ({
    key: at.together('merge', at.rows().key),
    what: 'times of streams',
    rows: [],
    lists: [],
    isSilent: true,
  }),
};
