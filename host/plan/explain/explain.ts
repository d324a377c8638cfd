/** The plan as the interface explains it: one JSON object in each line, indented by tabs with the depth. */

import { tablesOf } from '../joins/join.js';
import { inputsOf, type Logical, operatorsOf } from '../logical/logical.js';
import { kindOf, relationsOf, valuesOf } from '../operators/index.js';
import type { Explained } from '../operators/operator.js';
import type { Physical } from '../program/physical-plan.js';
import { showValue } from '../values/show.js';
import type { Value } from '../values/value.js';
import { notesOf, valuesAboveOf } from './notes.js';

/**
 * Prints the logical plan from the output down to the streams. An operator has the number after that of the operator
 * which reads it, the inputs of one operator are numbered on from there.
 */
export function explainLines(
  root: Extract<Logical, { kind: 'project' }>,
  read: Pick<Physical, 'columns' | 'uses'>,
): string {
  const lines: string[] = [];
  const notes: string[] = [];
  const names = new Map(
    operatorsOf([{ node: root, actions: [] }])
      .flatMap(relationsOf)
      .map(({ index, ownName }) => [index, `${ownName}.`]),
  );
  const above = valuesAboveOf(root);
  const show = (value: Value): string => showValue(value, (source) => names.get(source) ?? '');
  const of: Explained = { read, show, all: (values) => values.map(show).join(', ') };
  /** Returns how many operators stand side by side there: the inputs of a node that is not shown stand in its place. */
  const print = (node: Logical, number: number, depth: number): number => {
    const shown = kindOf(node).explain(node, of);
    // Operators of a graph are called as in its topology; the first line is that of the last.
    const labels = node.labels?.toReversed() ?? [];
    shown.forEach(([op, info], i) => {
      const tabs = '\t'.repeat(Math.max(0, 2 * (depth + i) - 1));
      const label = labels[i];
      lines.push(
        tabs +
          JSON.stringify(
            label === undefined
              ? { op: `${op}_${number + i}`, info }
              : { op: `op_${label}`, info: `${op} ${info}`.trim() },
          ),
      );
    });
    // The last of an operator's lines is for its main work; the lines before tell what it does besides.
    const [last] = shown.at(-1) ?? [];
    const noted = notesOf(node, valuesOf(node), above.get(node) ?? []);
    if (last !== undefined && noted !== null) {
      const named =
        labels.length > 0 ? `op_${labels[shown.length - 1] ?? labels[0]}` : `${last}_${number + shown.length - 1}`;
      notes.push(JSON.stringify({ op: 'Note', of: named, ...noted }));
    }
    let width = 0;
    for (const input of readBy(node)) width += print(input, number + shown.length + width, depth + shown.length);
    return shown.length > 0 ? 1 : width;
  };
  print(root, 0, 0);
  return [...lines, ...notes].join('\n');
}

/** Inputs of an operator; a join reads its tables beside the windows of streams. */
function readBy(node: Logical): readonly Logical[] {
  if (node.kind !== 'join') return inputsOf(node);
  return [node.input, ...tablesOf(node.sources).map((source): Logical => ({ kind: 'source', source }))];
}
