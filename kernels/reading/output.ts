/** Reads the output of encode nodes. */
import type { OutputChunk } from '../api.js';
import { errorBit, segment } from '../gen/layouts.js';
import type { Arena } from '../memory/arena.js';

const noErrors: ReadonlySet<number> = new Set();
/** Fields of a segment, in steps of u32: with thousands of rules this is read thousands of times for a message. */
const [nodeAt, hostAt, offAt, lenAt, endsAt, messagesAt, rowsAt, errorsAt] = (
  ['node', 'host', 'off', 'len', 'ends', 'messages', 'rows', 'errors'] as const
).map((name) => segment.at[name] / 4) as [number, number, number, number, number, number, number, number];

/** Passes the segments on that the kernel hands out in one go. */
export function chunksOf(arena: Arena, segments: number, count: number, pass: (chunk: OutputChunk) => void): void {
  const table = arena.u32s(segments, (count * segment.size) / 4);
  // The list of ends of all chunks with one message: a view made for each would cost more than all else here.
  const oneEnd = new Uint32Array(1);
  for (let i = 0; i < table.length; i += segment.size / 4) {
    const messages = table[i + messagesAt]!;
    const length = table[i + lenAt]!;
    const at = table[i + endsAt]!;
    const hasErrors = table[i + errorsAt] !== 0;
    let ends: Uint32Array | null = null;
    if (at !== 0 && messages === 1 && !hasErrors) {
      ends = oneEnd;
      ends[0] = length;
    } else if (at !== 0) ends = arena.u32s(at, messages);
    pass({
      node: table[i + nodeAt]!,
      host: table[i + hostAt]!,
      bytes: arena.bytes(table[i + offAt]!, length),
      ends,
      messages,
      rows: table[i + rowsAt]!,
      errors: hasErrors && ends !== null ? takeErrors(ends) : noErrors,
    });
  }
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
