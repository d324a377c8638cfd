// What an encode node has gathered, saved and loaded: rows, ends, names of columns, heads.
import { ERROR_BIT } from '../gen/encode-layouts';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readLength, readRaw, readU32, readVersion } from '../state/reader';
import { writeBytes, writeU32, writeVersion } from '../state/writer';
import { ENCODE_FLAGS, ENCODE_FORMAT } from './row';
import { areNames, isApart, isTextFormat, keepsNames, namesNew } from './text';
import { namesDrop } from './gather';
import { enlist } from './gathering';
import {
  GATHER_BUF,
  GATHER_ENDS,
  GATHER_ENDS_LEN,
  GATHER_HEADS,
  GATHER_HEADS_LEN,
  GATHER_ITEMS,
  GATHER_LEN,
  GATHER_NAMES,
  GATHER_ROWS,
  GATHER_TAKEN,
  addEnd,
  reserve,
} from './gather-buffer';
import { headsOf } from './head';
import { N_SPEC, N_STATE, accountOf } from '../node/node';
import { isLines } from './send';

const VERSION: u32 = 4;

/** Saves what was gathered, and the names of the columns. */
export function gatherSave(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  writeVersion(VERSION);
  writeU32(load<u32>(state, GATHER_ROWS));
  writeU32(load<u32>(state, GATHER_ITEMS));
  writeU32(load<u32>(state, GATHER_TAKEN));
  writeBytes(<usize>load<u32>(state, GATHER_BUF), load<u32>(state, GATHER_LEN));
  const ends = load<u32>(state, GATHER_ENDS_LEN);
  writeU32(ends);
  let before: u32 = 0;
  for (let i: u32 = 0; i < ends; i++) {
    const end = load<u32>(<usize>load<u32>(state, GATHER_ENDS) + ((<usize>i) << 2));
    const at = end & ~ERROR_BIT;
    writeU32((at - before) | (end & ERROR_BIT));
    before = at;
  }
  const names = <usize>load<u32>(state, GATHER_NAMES);
  writeBytes(names, names ? load<u32>(names) : 0);
  writeBytes(<usize>load<u32>(state, GATHER_HEADS), load<u32>(state, GATHER_HEADS_LEN));
}

/** Fills a node that was just made. */
export function gatherLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  const rows = readU32();
  const items = readU32();
  const taken = readU32();
  const len = readLength();
  if (readFails()) return false;
  if (!reserve(node, state, len)) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  readRaw(<usize>load<u32>(state, GATHER_BUF), len);
  const ends = readLength();
  let end: u64 = 0;
  let errors: u32 = 0;
  for (let i: u32 = 0; i < ends && !readFails(); i++) {
    const more = readU32();
    end += more & ~ERROR_BIT;
    if (more & ERROR_BIT) errors++;
    if (!addEnd(node, state, <u32>end | (more & ERROR_BIT))) readFail(LoadFault.MEMORY);
  }
  // Each row of these is a message, and each error among them, which ends somewhere in the bytes.
  const hasEnds = !isLines(spec) && isApart(load<u8>(spec, ENCODE_FLAGS));
  if (rows + errors != items && (hasEnds || errors)) readFail(LoadFault.DAMAGED);
  if (
    end > len ||
    ends != (hasEnds ? (headsOf(spec) ? items << 1 : items) : 0) ||
    ((rows || items) && !len && !isTextFormat(load<u8>(spec, ENCODE_FORMAT)))
  ) {
    readFail(LoadFault.DAMAGED);
  }
  if (readFails() || !loadNames(node, spec, state) || !loadHeads(node, spec, state, rows)) return false;
  store<u32>(state, len, GATHER_LEN);
  store<u32>(state, rows, GATHER_ROWS);
  store<u32>(state, items, GATHER_ITEMS);
  store<u32>(state, taken, GATHER_TAKEN);
  if (items) enlist(node, state);
  return true;
}

function loadNames(node: usize, spec: usize, state: usize): bool {
  const size = readLength();
  if (readFails() || !size) return !readFails();
  const names = namesNew(size, 0, accountOf(node));
  if (!names) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  store<u32>(state, <u32>names, GATHER_NAMES);
  readRaw(names, size);
  if (readFails() || !keepsNames(spec) || !areNames(names, size)) {
    store<u32>(names, size);
    namesDrop(node, state);
    readFail(LoadFault.DAMAGED);
    return false;
  }
  return true;
}

function loadHeads(node: usize, spec: usize, state: usize, rows: u32): bool {
  const len = readLength();
  if (readFails()) return false;
  const hasHeads = headsOf(spec) && rows && !isApart(load<u8>(spec, ENCODE_FLAGS));
  if ((len != 0) != hasHeads) readFail(LoadFault.DAMAGED);
  else if (len && !reserve(node, state + GATHER_HEADS, len)) readFail(LoadFault.MEMORY);
  if (readFails()) return false;
  readRaw(<usize>load<u32>(state, GATHER_HEADS), len);
  store<u32>(state, len, GATHER_HEADS_LEN);
  return !readFails();
}
