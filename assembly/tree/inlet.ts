// Where input bytes arrive. All streams read into one region; what a stream leaves unread (the first part of a message)
// is kept in a block of its own and put in front of its next input. A rest that does not fit there gets a buffer of its
// own, which then takes the stream's input until the message is complete.
//
//   region   HEAD bytes for a rest | BODY bytes of input | TAIL readable bytes
//   inlet (16 bytes, one per stream)
//   0    rest u32        block with the rest, 0 none
//   4    restLen u32
//   8    own u32         own buffer (the rest stands at its start), 0 none
//   12   ownSize u32
import { alloc, allocZeroed, free } from '../mem/alloc';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readLength, readRaw } from '../state/reader';
import { writeBytes } from '../state/writer';

const HEAD: u32 = 65536;
const BODY: u32 = 1 << 20;
const TAIL: u32 = 64;
const INLET: u32 = 16;
const INLET_REST: usize = 0;
const INLET_REST_LEN: usize = 4;
const INLET_OWN: usize = 8;
const INLET_OWN_SIZE: usize = 12;

let region: usize = 0;

export function inletInit(): bool {
  region = alloc(HEAD + BODY + TAIL, 0);
  return region != 0;
}

export function inletNew(): usize {
  return allocZeroed(INLET, 0);
}

export function inletFree(inlet: usize): void {
  inletReset(inlet);
  free(inlet, INLET, 0);
}

/** Forgets the unread rest. */
export function inletReset(inlet: usize): void {
  freeRest(inlet);
  freeOwn(inlet);
  store<u32>(inlet, 0, INLET_REST_LEN);
}

function freeRest(inlet: usize): void {
  free(<usize>load<u32>(inlet, INLET_REST), load<u32>(inlet, INLET_REST_LEN), 0);
  store<u32>(inlet, 0, INLET_REST);
}

function freeOwn(inlet: usize): void {
  free(<usize>load<u32>(inlet, INLET_OWN), load<u32>(inlet, INLET_OWN_SIZE), 0);
  store<u32>(inlet, 0, INLET_OWN);
  store<u32>(inlet, 0, INLET_OWN_SIZE);
}

/** Where the next input of the stream is to be written. */
export function inletAt(inlet: usize): usize {
  const own = <usize>load<u32>(inlet, INLET_OWN);
  return own ? own + load<u32>(inlet, INLET_REST_LEN) : region + HEAD;
}

/** How many bytes may be written there. */
export function inletRoom(inlet: usize): u32 {
  return load<u32>(inlet, INLET_OWN)
    ? load<u32>(inlet, INLET_OWN_SIZE) - load<u32>(inlet, INLET_REST_LEN) - TAIL
    : BODY;
}

/** Puts the rest in front of the new input and returns where the whole begins. */
export function inletBegin(inlet: usize): usize {
  const own = <usize>load<u32>(inlet, INLET_OWN);
  if (own) return own;
  const len = load<u32>(inlet, INLET_REST_LEN);
  const at = region + HEAD - len;
  if (len) memory.copy(at, <usize>load<u32>(inlet, INLET_REST), len);
  return at;
}

/**
 * Keeps the bytes from `from` to `end` for the next input. False when memory is exhausted: what was kept before stays
 * as it was.
 */
export function inletKeep(inlet: usize, from: usize, end: usize): bool {
  const len = <u32>(end - from);
  if (len > HEAD) return keepLong(inlet, from, len);
  let rest: usize = 0;
  if (len) {
    rest = alloc(len, 0);
    if (!rest) return false;
    memory.copy(rest, from, len);
  }
  freeRest(inlet);
  freeOwn(inlet);
  store<u32>(inlet, <u32>rest, INLET_REST);
  store<u32>(inlet, len, INLET_REST_LEN);
  return true;
}

/** Room for as much again, so that a long message is moved a few times only. */
function keepLong(inlet: usize, from: usize, len: u32): bool {
  const own = <usize>load<u32>(inlet, INLET_OWN);
  const least = <u64>len + BODY + TAIL;
  let want = <u64>len + max(len, BODY) + TAIL;
  if (own && len + (BODY >> 1) + TAIL <= load<u32>(inlet, INLET_OWN_SIZE)) {
    memory.copy(own, from, len);
  } else {
    let bigger: usize = want > 0x7fffffff ? 0 : alloc(<u32>want, 0);
    if (!bigger && least < want) {
      want = least;
      bigger = alloc(<u32>want, 0);
    }
    if (!bigger) return false;
    memory.copy(bigger, from, len);
    freeOwn(inlet);
    store<u32>(inlet, <u32>bigger, INLET_OWN);
    store<u32>(inlet, <u32>want, INLET_OWN_SIZE);
  }
  freeRest(inlet);
  store<u32>(inlet, len, INLET_REST_LEN);
  return true;
}

/** Saves the unread rest. */
export function inletSave(inlet: usize): void {
  const own = <usize>load<u32>(inlet, INLET_OWN);
  writeBytes(own ? own : <usize>load<u32>(inlet, INLET_REST), load<u32>(inlet, INLET_REST_LEN));
}

/** Makes saved bytes the unread rest, in place of another one. */
export function inletLoad(inlet: usize): void {
  const len = readLength();
  if (readFails()) return;
  const aside = alloc(max(len, 1), 0);
  if (!aside) {
    readFail(LoadFault.MEMORY);
    return;
  }
  readRaw(aside, len);
  if (!readFails() && !inletKeep(inlet, aside, aside + len)) readFail(LoadFault.MEMORY);
  free(aside, max(len, 1), 0);
}
