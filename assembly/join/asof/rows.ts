// The batch of an as-of join at work: rows of the right side are kept, rows of the left get their partners. Other joins
// may work between two of its steps, so that each step starts with `begin`.
import * as ctx from '../../batch/context';
import { NodeFlag, accountOf, addException } from '../../node/node';
import { Bind, BIND_SIZE, bindTag, bindVal } from '../../mem/bind';
import { BATCH_ROWS, COL_TAGS, Tag, lenOf, offOf, setAt, tagAt, valAt } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { KEPT_SIZE, keep, keptTag, keptVal } from '../../partitions/slot';
import { entrySee, noteDirty } from '../../partitions/table';
import { AsofEntry, entrySize, slotsOf } from './state';
import { keyError, makeKey } from '../key/bytes';
import { KeyEntry, KeyWish, isEntry, keyEntries } from '../key/entries';
import { AsofSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { PartitionTable, PartitionEntry } from '../../partitions/table-slots';

let spec: AsofSpec = changetype<AsofSpec>(0);
let state: PartitionTable = changetype<PartitionTable>(0);
let owner: Node = changetype<Node>(0);
/** Binds of the keys of the left side, the keys of the right, and the fields of the right (mem/bind.ts). */
let leftKeys: usize = 0;
let rightKeys: usize = 0;
let fieldBinds: usize = 0;
let keyCount: u32 = 0;
let fieldCount: u32 = 0;
/** Blocks of the fields of the output. */
let fieldBlocks: usize = 0;
/** Entries and wishes by row of the batch (join/key/entries.ts). */
let entries: usize = 0;
let wishes: usize = 0;
/** Block with the marks of error rows, 0 while there are none; and the block that is set aside for it. */
export let marks: usize = 0;
let marksBlock: usize = 0;
/** Rows that go on. */
let kept: usize = 0;
export let keptCount: u32 = 0;

export function begin(node: Node, binds: usize, fields: usize, forMarks: usize, rows: usize): void {
  owner = node;
  spec = changetype<AsofSpec>(node.spec);
  state = changetype<PartitionTable>(node.state);
  keyCount = spec.keys;
  fieldCount = spec.fields;
  leftKeys = binds;
  rightKeys = binds + keyCount * BIND_SIZE;
  fieldBinds = rightKeys + keyCount * BIND_SIZE;
  fieldBlocks = fields;
  marks = 0;
  marksBlock = forMarks;
  kept = rows;
  keptCount = 0;
}

/** Takes the work on the batch up again after other joins have worked. */
export function proceed(sent: u32, failed: usize, known: usize, n: u32): void {
  keptCount = sent;
  marks = failed;
  entries = known;
  wishes = known + ((<usize>n) << 2);
}

/** Room for the entries and wishes of `n` rows; 0 when memory is exhausted. */
export function roomFor(n: u32): usize {
  return poolAlloc(ctx.scratch, n * 5);
}

/** Finds the entries of the rows of the current batch, and writes them to `room`. False when memory is exhausted. */
export function lookUp(room: usize): bool {
  const branches = <usize>load<u32>(ctx.cols);
  const errors = ctx.rowErrors;
  const left = <u64>spec.left;
  const right = <u64>spec.right;
  const sel = ctx.sel;
  const n = ctx.selLen;
  entries = room;
  wishes = room + ((<usize>n) << 2);
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let wish: u8 = KeyWish.SKIPS;
    if (!errors || tagAt(errors, row) != Tag.ERROR) {
      const branch = valAt(branches, row);
      wish = select<u8>(KeyWish.RIGHT | KeyWish.MAKES, select<u8>(0, KeyWish.SKIPS, branch == left), branch == right);
    }
    store<u8>(wishes + i, wish);
  }
  const before = state.last;
  if (!find(n, sel)) return false;
  // Keys that are new in this batch have no row yet: rows before their first one get no partner.
  let made = changetype<AsofEntry>(
    load<u32>(
      before
        ? changetype<usize>(before) + offsetof<PartitionEntry>('next')
        : changetype<usize>(state) + offsetof<PartitionTable>('first'),
    ),
  );
  for (; made; made = changetype<AsofEntry>(made.next)) made.time = NaN;
  return true;
}

/** As `lookUp` for the rows 0 … n-1, all of the left side. */
export function lookUpLefts(room: usize, rows: usize, n: u32): bool {
  entries = room;
  wishes = room + ((<usize>n) << 2);
  memory.fill(wishes, 0, n);
  return find(n, rows);
}

// @ts-ignore: decorator
@inline function find(n: u32, sel: usize): bool {
  return keyEntries(state, entrySize(spec), keyCount, leftKeys, rightKeys, wishes, sel, n, entries, accountOf(owner));
}

// @ts-ignore: decorator
@inline export function isRight(i: u32): bool {
  return (load<u8>(wishes + i) & KeyWish.RIGHT) != 0;
}

// @ts-ignore: decorator
@inline export function isLeft(i: u32): bool {
  return load<u8>(wishes + i) == 0;
}

// @ts-ignore: decorator
@inline function entryOf(i: u32): u32 {
  return load<u32>(entries + ((<usize>i) << 2));
}

// @ts-ignore: decorator
@inline function keepRow(row: u32): void {
  store<u32>(kept + ((keptCount++ as usize) << 2), row);
}

/** Keeps a row of the right side, the i-th, in the place of that before it. */
// @ts-ignore: decorator
@inline export function takeRight(i: u32, row: u32, ms: f64): void {
  const found = changetype<AsofEntry>(entryOf(i));
  if (!isEntry(changetype<usize>(found))) {
    if (changetype<usize>(found) == KeyEntry.FAILED) failKey(rightKeys, row);
    return;
  }
  const entry = found;
  entrySee(state, entry, ctx.nowMs);
  entry.time = ms;
  let slot = slotsOf(entry);
  let bind = fieldBinds;
  let isBorrowed = false;
  for (let f: u32 = 0; f < fieldCount; f++, slot += KEPT_SIZE, bind += BIND_SIZE) {
    if (keep(changetype<Pool>(slot), bindTag(changetype<Bind>(bind), row), bindVal(changetype<Bind>(bind), row)))
      isBorrowed = true;
  }
  if (isBorrowed) noteDirty(state, entry);
}

/** Lets a row of the left side, the i-th, go on with its partner. */
// @ts-ignore: decorator
@inline export function joinLeft(i: u32, row: u32, ms: f64): void {
  const found = changetype<AsofEntry>(entryOf(i));
  if (isEntry(changetype<usize>(found)) && ms - found.time <= spec.tolerance) {
    let slot = slotsOf(found);
    for (let f: u32 = 0; f < fieldCount; f++, slot += KEPT_SIZE) {
      setAt(
        <usize>load<u32>(fieldBlocks + ((<usize>f) << 2)),
        row,
        keptTag(changetype<Pool>(slot)),
        keptVal(changetype<Pool>(slot)),
      );
    }
    keepRow(row);
  } else joinNone(found, row);
}

function joinNone(found: AsofEntry, row: u32): void {
  if (changetype<usize>(found) == KeyEntry.FAILED) failKey(leftKeys, row);
  else if (spec.isLeft) passOther(row);
}

/** Whether the key of a row of the left, the i-th, can be compared; otherwise the row fails. */
export function isJoinable(i: u32, row: u32): bool {
  if (entryOf(i) != KeyEntry.FAILED) return true;
  failKey(leftKeys, row);
  return false;
}

/** Says that the row has no partner. */
function leaveFields(row: u32): void {
  for (let f: u32 = 0; f < fieldCount; f++)
    setAt(<usize>load<u32>(fieldBlocks + ((<usize>f) << 2)), row, Tag.MISSING, 0);
}

/** A row goes on without a partner. */
// @ts-ignore: decorator
@inline export function passOther(row: u32): void {
  leaveFields(row);
  keepRow(row);
}

function failKey(binds: usize, row: u32): void {
  makeKey(binds, keyCount, row);
  addException(owner, offOf(keyError), lenOf(keyError), 1);
  if (owner.flags & NodeFlag.SEND_ERROR) passFailure(row, keyError);
}

/** Passes a row on as an error row. */
export function passFailure(row: u32, payload: u64): void {
  if (!marks) {
    marks = marksBlock;
    memory.fill(marks + COL_TAGS, Tag.NULL, BATCH_ROWS);
  }
  setAt(marks, row, Tag.ERROR, payload);
  leaveFields(row);
  keepRow(row);
}
