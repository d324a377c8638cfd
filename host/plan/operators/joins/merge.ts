/** Rows of several sources in one sequence; each of them comes to it through a port. */

import { col, type NodePlan } from '../../../../kernels/plan/ir.js';
import { isOfStreams } from '../../joins/join.js';
import { type Logical, levelOf } from '../../logical/logical.js';
import type { NodeKind } from '../../nodes/node.js';
import { Path, ProgramBuilder } from '../../program/program.js';
import { isNone, windowNeeds } from '../../program/window-needs.js';
import type { Relation } from '../../values/source.js';
import type { Value } from '../../values/value.js';
import type { OperatorKind } from '../operator.js';

declare module '../../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Rows of several sources in one sequence; with the event time of each source, or none in processing time.
     * `inputs`: what the rows of each source come through.
     */
    merge: { sources: Relation[]; inputs: Logical[]; timestamps: Value[] };
  }
}

/** Columns that the node puts before those of its branches. */
export const mergeBranch = 0;
export const mergeTime = 1;

export const merge: OperatorKind<'merge'> = {
  values: ({ timestamps }) => timestamps,
  map: (node) => node,
  lower(node, at) {
    const { sources, inputs, timestamps } = node;
    const later = at.valuesAbove(node);
    const read = new Set<Value>(windowNeeds(later, isNone, () => false).keep);
    const branches = inputs.map((input, i) => {
      const chain = at.placeBranch(input);
      const { path } = at;
      // The columns of a derived table may stand in registers. What nobody above reads, as most time stamps, stays
      // below.
      const [bottom] = levelOf(input);
      const all = bottom?.kind === 'derive' ? [...bottom.columns.keys()] : path.columnValues;
      const columns = all.filter((value) => value?.kind !== 'column' || read.has(value));
      return { chain, path, columns: [...columns, ...at.computedFor(sources[i]!, later)] };
    });
    const into = at.next;
    const ports = branches.map(({ path, columns }, branch) =>
      planPort(path, columns, into, branch, timestamps[branch] ?? null),
    );
    const lengths = branches.map(({ columns }) => columns.length);
    at.record({ kind: 'merge', input: null, branches: lengths, name: 'merge' }, null);
    const chains = branches.map(({ chain }) => chain);
    if (!isOfStreams(node)) at.addStep({ kind: 'union', nodes: [into], inputs: chains });
    at.path = Path.ofMerge(
      into,
      [null, null, ...branches.flatMap(({ columns }) => columns)],
      branches.map(({ path }) => path),
    );
    for (const port of ports) at.add(port);
  },
  explain: () => [],
  relations: ({ sources }) => sources,
};

/** Plans the port that gives the rows at the place of the path to a merge or join. */
export function planPort(
  path: Path,
  values: readonly (Value | null)[],
  into: number,
  branch: number,
  time: Value | null,
): NodePlan {
  const builder = new ProgramBuilder(path);
  const columns = values.map((value, i) => (value === null ? col(i) : builder.operand(value)));
  const timestamp = time === null ? undefined : builder.operand(time);
  const program = builder.finishOrNull();
  const port: NodePlan = { kind: 'port', input: path.input, into, branch, program, columns, name: 'port' };
  return timestamp === undefined ? port : { ...port, timestamp };
}

export const mergeNode: NodeKind<'merge'> = {
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

export const portNode: NodeKind<'port'> = {};
