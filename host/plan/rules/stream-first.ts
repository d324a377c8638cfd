/**
 * Turns `FROM table INNER JOIN stream` into `FROM stream INNER JOIN table`, where rows are looked up by the hash of
 * their keys instead of one after the other. Only without a window: with one row of the stream, pairs come in the order
 * of the table either way.
 */
import { streamsOf } from '../joins/join.js';
import { type Logical, mapOperators, type Root } from '../logical/logical.js';

/** The plan with the stream on the left of its inner joins with tables. */
export function streamFirst(roots: readonly Root[]): Root[] {
  return mapOperators(roots, (node) => (node.kind === 'join' ? turned(node) : node));
}

function turned(node: Extract<Logical, { kind: 'join' }>): Logical {
  const { input, sources, steps } = node;
  const [stream, other] = streamsOf(sources);
  const [from] = sources;
  const [first, ...rest] = steps;
  const isAlone = other === undefined && input.kind === 'window' && input.window.kind === 'row';
  if (stream === undefined || from?.isTable !== true || !isAlone) return node;
  if (first?.type !== 'inner' || first.source !== stream.index) return node;
  return {
    ...node,
    sources: [stream, ...sources.filter((source) => source !== stream)],
    steps: [{ ...first, source: from.index }, ...rest],
  };
}
