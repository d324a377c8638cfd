// State of an encode node that gathers rows (encode/gather.ts), and room in its buffers.
//
//   state (only of nodes that gather or keep the names of columns, 100 bytes)
//   0    buf u32, 4 cap u32, 8 len u32      text of the complete rows, in a message of several rows each with the
//                                           separator before it
//   12   rows u32
//   16   ends u32, 20 endsCap u32, 24 endsLen u32     ends of the messages, with sendSingle and without batches
//   28   failOff u32, 32 failLen u32        why the message under way is lost, 0 if it is not
//   36   markLen u32, 40 markRows u32, 44 markEnds u32   where the message under way begins
//   48   sent u32            times that the buffer was sent
//   52   place u32           address of the word that names the node, 0 while it is in no list
//   56   next u32            the node after it there
//   60   names u32           columns of delimited rows (encode/text.ts), 0 none
//   64   heads u32, 68 headsCap u32, 72 headsLen u32, 76 markHeads u32   without sendSingle: the rows as JSON, a comma
//   before
//                            each (encode/head.ts); of a batch those of its last message
//   80   items u32           messages in the batch; of rows that are messages those, and the errors in the place of
//   such
//   84   taken u32           messages since the batch began, with those that failed or were left out as empty
//   88   markItems u32       as the other marks
//   92   lastHead u32        where the last of the heads begins
//   96   wanted u32          room that the last long message needed
import { accountOf } from '../node/node';
import { alloc, free, roundedSize } from '../mem/alloc';
import { Node } from '../gen/node-layouts';

export const STATE_SIZE: u32 = 100;
/** State of an encode node that gathers rows. */
// @ts-ignore: decorator
@unmanaged
export class Gather {
  buf: usize;
  cap: u32;
  len: u32;
  rows: u32;
  ends: usize;
  endsCap: u32;
  endsLen: u32;
  failOff: u32;
  failLen: u32;
  markLen: u32;
  markRows: u32;
  markEnds: u32;
  sent: u32;
  place: u32;
  next: Node;
  names: usize;
  heads: usize;
  headsCap: u32;
  headsLen: u32;
  markHeads: u32;
  items: u32;
  taken: u32;
  markItems: u32;
  lastHead: u32;
  wanted: u32;
}

const FIRST_BUFFER: u32 = 1024;
/** A buffer above this size is freed when its content is sent: most messages are far smaller. */
export const KEEP_BUFFER: u32 = 16384;
/** Room for the closing bracket and the line feed. */
const TAIL: u32 = 2;

/** Makes room for `more` bytes and the end of the message behind what the buffer at {buf, cap, len} holds. */
export function reserve(node: Node, state: Gather, more: u64): bool {
  const len = state.len;
  const cap = state.cap;
  const need = more + len + TAIL;
  if (need <= cap) return true;
  const wanted = max<u64>(need, max<u64>(<u64>cap * 2, FIRST_BUFFER));
  if (wanted > 0x7fffffff) return false;
  const size = roundedSize(<u32>wanted);
  const bigger = alloc(size, accountOf(node));
  if (!bigger) return false;
  memory.copy(bigger, state.buf, len);
  free(state.buf, cap, accountOf(node));
  state.buf = bigger;
  state.cap = size;
  return true;
}

export function addEnd(node: Node, state: Gather, end: u32): bool {
  const n = state.endsLen;
  const cap = state.endsCap;
  if (n == cap) {
    const wanted = cap ? cap << 1 : 64;
    const bigger = alloc(wanted << 2, accountOf(node));
    if (!bigger) return false;
    memory.copy(bigger, state.ends, (<usize>n) << 2);
    free(state.ends, cap << 2, accountOf(node));
    state.ends = bigger;
    state.endsCap = wanted;
  }
  store<u32>(state.ends + ((<usize>n) << 2), end);
  state.endsLen = n + 1;
  return true;
}

/** Frees the buffers, with what they hold. */
export function dropBuffers(node: Node, state: Gather): void {
  free(state.buf, state.cap, accountOf(node));
  free(state.ends, state.endsCap << 2, accountOf(node));
  free(state.heads, state.headsCap, accountOf(node));
  store<u64>(changetype<usize>(state), 0);
  store<u64>(changetype<usize>(state), 0, offsetof<Gather>('ends'));
  store<u64>(changetype<usize>(state), 0, offsetof<Gather>('heads'));
  state.len = 0;
  state.endsLen = 0;
  state.headsLen = 0;
}
