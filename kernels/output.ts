/** Reads the output of encode nodes. */
import type { OutputChunk } from './api.js';
import type { Arena } from './arena.js';
import { errorBit, segment } from './gen/layouts.js';

const noErrors: ReadonlySet<number> = new Set();

/** Returns the segment that begins at an index of the table of segments. */
export function chunkAt(arena: Arena, table: Uint32Array, index: number): OutputChunk {
  const at = (name: keyof typeof segment.at): number => table[index + segment.at[name] / 4] as number;
  const ends = at('ends') === 0 ? null : arena.u32s(at('ends'), at('messages'));
  return {
    node: at('node'),
    host: at('host'),
    bytes: arena.bytes(at('off'), at('len')),
    ends,
    messages: at('messages'),
    rows: at('rows'),
    errors: at('errors') === 0 || ends === null ? noErrors : takeErrors(ends),
  };
}

/** Returns the places of the ends that are marked as those of errors, and takes the marks away. */
function takeErrors(ends: Uint32Array): ReadonlySet<number> {
  const errors = new Set<number>();
  for (const [place, end] of ends.entries()) {
    if (end < errorBit) continue;
    errors.add(place);
    ends[place] = end - errorBit;
  }
  return errors;
}
