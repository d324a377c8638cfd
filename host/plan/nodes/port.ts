import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const port: NodeKind<'port'> = {
  show({ program, timestamp, branch, into, columns }) {
    const show = shower(program);
    const time = timestamp === undefined ? '' : ` at ${show(timestamp)}`;
    return [...showOps(program), `branch ${branch} of #${into}${time}: ${columns.map(show).join(' ')}`];
  },
};
