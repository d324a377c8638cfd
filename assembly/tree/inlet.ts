// Memory for input bytes. All streams read into one region; the unread rest of a stream (the first part of a message)
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
/** Input that a stream has not read yet. */
// @ts-ignore: decorator
@unmanaged
export class Inlet {
  rest: usize;
  restLen: u32;
  own: usize;
  ownSize: u32;
}

let region: usize = 0;

export function inletInit(): bool {
  region = alloc(HEAD + BODY + TAIL, 0);
  return region != 0;
}

export function inletNew(): usize {
  return allocZeroed(INLET, 0);
}

export function inletFree(inlet: Inlet): void {
  inletReset(inlet);
  free(changetype<usize>(inlet), INLET, 0);
}

/** Forgets the unread rest. */
export function inletReset(inlet: Inlet): void {
  freeRest(inlet);
  freeOwn(inlet);
  inlet.restLen = 0;
}

function freeRest(inlet: Inlet): void {
  free(inlet.rest, inlet.restLen, 0);
  inlet.rest = 0;
}

function freeOwn(inlet: Inlet): void {
  free(inlet.own, inlet.ownSize, 0);
  inlet.own = 0;
  inlet.ownSize = 0;
}

/** Address to which the next input of the stream is to be written. */
export function inletAt(inlet: Inlet): usize {
  const own = inlet.own;
  return own ? own + inlet.restLen : region + HEAD;
}

/** Bytes that may be written at `inletAt`. */
export function inletRoom(inlet: Inlet): u32 {
  return inlet.own ? inlet.ownSize - inlet.restLen - TAIL : BODY;
}

/** Puts the rest in front of the new input and returns where the whole begins. */
export function inletBegin(inlet: Inlet): usize {
  const own = inlet.own;
  if (own) return own;
  const len = inlet.restLen;
  const at = region + HEAD - len;
  if (len) memory.copy(at, inlet.rest, len);
  return at;
}

/**
 * Keeps the bytes from `from` to `end` for the next input. False when memory is exhausted: the rest kept before stays.
 */
export function inletKeep(inlet: Inlet, from: usize, end: usize): bool {
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
  inlet.rest = rest;
  inlet.restLen = len;
  return true;
}

/**
 * Keeps a long rest in a buffer of its own, with room for as much again, so that a long message is moved a few times
 * only.
 */
function keepLong(inlet: Inlet, from: usize, len: u32): bool {
  const own = inlet.own;
  const least = <u64>len + BODY + TAIL;
  let want = <u64>len + max(len, BODY) + TAIL;
  if (own && len + (BODY >> 1) + TAIL <= inlet.ownSize) {
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
    inlet.own = bigger;
    inlet.ownSize = <u32>want;
  }
  freeRest(inlet);
  inlet.restLen = len;
  return true;
}

/** Saves the unread rest. */
export function inletSave(inlet: Inlet): void {
  const own = inlet.own;
  writeBytes(own ? own : inlet.rest, inlet.restLen);
}

/** Makes saved bytes the unread rest, in place of another one. */
export function inletLoad(inlet: Inlet): void {
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
