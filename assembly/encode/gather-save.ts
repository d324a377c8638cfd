// Saved state of an encode node that gathers rows: rows, ends, names of columns, heads.
import { EncodeSpec, ERROR_BIT } from '../gen/encode-layouts';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readLength, readRaw, readU32, readVersion } from '../state/reader';
import { writeBytes, writeU32, writeVersion } from '../state/writer';
import { areNames, isApart, isTextFormat, keepsNames, namesNew } from './text';
import { namesDrop } from './gather';
import { enlist } from './gathering';
import { Gather, addEnd, reserve } from './gather-buffer';
import { headsOf } from './head';
import { accountOf } from '../node/node';
import { isLines } from './send';
import { Node } from '../gen/node-layouts';

const VERSION: u32 = 4;

/** Saves the gathered rows and the names of the columns. */
export function gatherSave(node: Node): void {
  const state = changetype<Gather>(node.state);
  writeVersion(VERSION);
  writeU32(state.rows);
  writeU32(state.items);
  writeU32(state.taken);
  writeBytes(state.buf, state.len);
  const ends = state.endsLen;
  writeU32(ends);
  let before: u32 = 0;
  for (let i: u32 = 0; i < ends; i++) {
    const end = load<u32>(state.ends + ((<usize>i) << 2));
    const at = end & ~ERROR_BIT;
    writeU32((at - before) | (end & ERROR_BIT));
    before = at;
  }
  const names = state.names;
  writeBytes(names, names ? load<u32>(names) : 0);
  writeBytes(state.heads, state.headsLen);
}

/** Loads the saved state into a new node. */
export function gatherLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = changetype<Gather>(node.state);
  const spec = changetype<EncodeSpec>(node.spec);
  const rows = readU32();
  const items = readU32();
  const taken = readU32();
  const len = readLength();
  if (readFails()) return false;
  if (!reserve(node, state, len)) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  readRaw(state.buf, len);
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
  const hasEnds = !isLines(spec) && isApart(spec.flags);
  if (rows + errors != items && (hasEnds || errors)) readFail(LoadFault.DAMAGED);
  if (
    end > len ||
    ends != (hasEnds ? (headsOf(spec) ? items << 1 : items) : 0) ||
    ((rows || items) && !len && !isTextFormat(spec.format))
  ) {
    readFail(LoadFault.DAMAGED);
  }
  if (readFails() || !loadNames(node, spec, state) || !loadHeads(node, spec, state, rows)) return false;
  state.len = len;
  state.rows = rows;
  state.items = items;
  state.taken = taken;
  if (items) enlist(node, state);
  return true;
}

function loadNames(node: Node, spec: EncodeSpec, state: Gather): bool {
  const size = readLength();
  if (readFails() || !size) return !readFails();
  const names = namesNew(size, 0, accountOf(node));
  if (!names) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  state.names = names;
  readRaw(names, size);
  if (readFails() || !keepsNames(spec) || !areNames(names, size)) {
    store<u32>(names, size);
    namesDrop(node, state);
    readFail(LoadFault.DAMAGED);
    return false;
  }
  return true;
}

function loadHeads(node: Node, spec: EncodeSpec, state: Gather, rows: u32): bool {
  const len = readLength();
  if (readFails()) return false;
  const hasHeads = headsOf(spec) && rows && !isApart(spec.flags);
  if ((len != 0) != hasHeads) readFail(LoadFault.DAMAGED);
  else if (len && !reserve(node, changetype<Gather>(changetype<usize>(state) + offsetof<Gather>('heads')), len))
    readFail(LoadFault.MEMORY);
  if (readFails()) return false;
  readRaw(state.heads, len);
  state.headsLen = len;
  return !readFails();
}
