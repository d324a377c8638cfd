// What an encode node that gathers rows keeps (encode/gather.ts), and room in its buffers.
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

export const STATE_SIZE: u32 = 100;
export const GATHER_BUF: usize = 0;
export const GATHER_CAP: usize = 4;
export const GATHER_LEN: usize = 8;
export const GATHER_ROWS: usize = 12;
export const GATHER_ENDS: usize = 16;
const GATHER_ENDS_CAP: usize = 20;
export const GATHER_ENDS_LEN: usize = 24;
export const GATHER_FAIL_OFF: usize = 28;
export const GATHER_FAIL_LEN: usize = 32;
export const GATHER_MARK_LEN: usize = 36;
export const GATHER_MARK_ROWS: usize = 40;
export const GATHER_MARK_ENDS: usize = 44;
export const GATHER_SENT: usize = 48;
export const GATHER_PLACE: usize = 52;
export const GATHER_NEXT: usize = 56;
export const GATHER_NAMES: usize = 60;
export const GATHER_HEADS: usize = 64;
export const GATHER_HEADS_CAP: usize = 68;
export const GATHER_HEADS_LEN: usize = 72;
export const GATHER_MARK_HEADS: usize = 76;
export const GATHER_ITEMS: usize = 80;
export const GATHER_TAKEN: usize = 84;
export const GATHER_MARK_ITEMS: usize = 88;
export const GATHER_LAST_HEAD: usize = 92;
export const GATHER_WANTED: usize = 96;

const FIRST_BUFFER: u32 = 1024;
/** A buffer above this size is freed when its content is sent: most messages are far smaller. */
export const KEEP_BUFFER: u32 = 16384;
/** Room for the closing bracket and the line feed. */
const TAIL: u32 = 2;

/** Makes room for `more` bytes and the end of the message behind what the buffer at {buf, cap, len} holds. */
export function reserve(node: usize, state: usize, more: u64): bool {
  const len = load<u32>(state, GATHER_LEN);
  const cap = load<u32>(state, GATHER_CAP);
  const need = more + len + TAIL;
  if (need <= cap) return true;
  const wanted = max<u64>(need, max<u64>(<u64>cap * 2, FIRST_BUFFER));
  if (wanted > 0x7fffffff) return false;
  const size = roundedSize(<u32>wanted);
  const bigger = alloc(size, accountOf(node));
  if (!bigger) return false;
  memory.copy(bigger, <usize>load<u32>(state, GATHER_BUF), len);
  free(<usize>load<u32>(state, GATHER_BUF), cap, accountOf(node));
  store<u32>(state, <u32>bigger, GATHER_BUF);
  store<u32>(state, size, GATHER_CAP);
  return true;
}

export function addEnd(node: usize, state: usize, end: u32): bool {
  const n = load<u32>(state, GATHER_ENDS_LEN);
  const cap = load<u32>(state, GATHER_ENDS_CAP);
  if (n == cap) {
    const wanted = cap ? cap << 1 : 64;
    const bigger = alloc(wanted << 2, accountOf(node));
    if (!bigger) return false;
    memory.copy(bigger, <usize>load<u32>(state, GATHER_ENDS), (<usize>n) << 2);
    free(<usize>load<u32>(state, GATHER_ENDS), cap << 2, accountOf(node));
    store<u32>(state, <u32>bigger, GATHER_ENDS);
    store<u32>(state, wanted, GATHER_ENDS_CAP);
  }
  store<u32>(<usize>load<u32>(state, GATHER_ENDS) + ((<usize>n) << 2), end);
  store<u32>(state, n + 1, GATHER_ENDS_LEN);
  return true;
}

/** Frees the buffers, with what they hold. */
export function dropBuffers(node: usize, state: usize): void {
  free(<usize>load<u32>(state, GATHER_BUF), load<u32>(state, GATHER_CAP), accountOf(node));
  free(<usize>load<u32>(state, GATHER_ENDS), load<u32>(state, GATHER_ENDS_CAP) << 2, accountOf(node));
  free(<usize>load<u32>(state, GATHER_HEADS), load<u32>(state, GATHER_HEADS_CAP), accountOf(node));
  store<u64>(state, 0);
  store<u64>(state, 0, GATHER_ENDS);
  store<u64>(state, 0, GATHER_HEADS);
  store<u32>(state, 0, GATHER_LEN);
  store<u32>(state, 0, GATHER_ENDS_LEN);
  store<u32>(state, 0, GATHER_HEADS_LEN);
}
