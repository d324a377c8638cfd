import type { JoinStep } from '../../../kernels/nodes/join.js';
import type { KeptList } from '../../model/kept.js';
import type { NodeKind } from './node.js';
import { shower, showKeys, showOps } from './text.js';

export const join: NodeKind<'join'> = {
  show({ program, tables = [], first, steps }) {
    const kept = tables.map(({ branch, retainRows }) => `keep ${retainRows} rows of branch ${branch}`);
    return [...showOps(program), ...kept, ...(first ? [`first branch ${first}`] : []), ...steps.flatMap(showStep)];
  },
  gives: ({ branches, tables = [] }, { input, portColumn, derived }) =>
    derived((i) => {
      for (const { branch } of tables) {
        const place = branches[branch]?.indexOf(i) ?? -1;
        if (place >= 0) return portColumn(branch, place);
      }
      return input.columnAt(i);
    }),
  rows(node, at) {
    const steps = node.steps.flatMap(({ type, branch, program, condition }) => [
      type,
      branch,
      condition === null ? null : at.conditionBelow(program, condition),
    ]);
    const tables = at.ports().map(({ input }) => at.sourceOf(input));
    return at.added(node.input, at.together('join', at.rowsOf(node.input).key, ...steps, ...tables), 'JOIN');
  },
  /** The tables; rows of messages leave nothing. */
  keeps({ tables = [], branches }, at) {
    const ports = at.ports();
    // In the order of the branches, as the kernel has them.
    const lists = branches.flatMap((_columns, branch): KeptList[] => {
      const isTable = tables.some((table) => table.branch === branch);
      const port = isTable ? ports.find((one) => one.branch === branch) : undefined;
      return port === undefined ? [] : [at.list('values', at.valuesAt(port.at, port.columns))];
    });
    const names = ports.map(({ input }) => at.sourceOf(input)).filter((name) => name !== '');
    const key = at.together('join', ...names, ...tables.map(({ retainRows }) => retainRows));
    const found = { key, what: `rows of table ${names.join(', ')}`, rows: [], lists };
    return tables.length > 0 ? found : { ...found, isSilent: true };
  },
};

function showStep({ type, branch, program, condition, keys }: JoinStep): string[] {
  const on = condition === null ? '' : ` on ${shower(program)(condition)}`;
  return [...showOps(program), `${type} join branch ${branch}${on}${showKeys(keys, shower(null))}`];
}
