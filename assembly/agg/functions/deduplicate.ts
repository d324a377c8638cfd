// deduplicate(x, all): rows without duplicates.
import { Agg } from '../../gen/aggregates';
import { SLOT_SIZE, SLOT_TAG, Tag, span } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import * as ctx from '../../batch/context';
import { noMemory } from '../../ops/result';
import { bytesHash } from '../../value/bytes';
import { textFails } from '../../value/text';
import { parameterError } from '../state/error';
import { keepItem, keepParameter } from '../state/keep';
import { keyLen, keyOff, keyText } from '../group/key';
import { giveResult } from '../state/result';
import { NO_INPUT, bindOf, bindTag, bindVal } from '../group/spec';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function deduplicateTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (!keepParameter(set, agg, state, tagAt, row) || !keepItem(set, Agg.DEDUPLICATE, state, tagAt, tag, payload))
    return;
  const c = agg.c;
  if (c != NO_INPUT) keepItem(set, Agg.DEDUPLICATE, state, tagAt, bindTag(bindOf(c), row), bindVal(bindOf(c), row));
}

/**
 * deduplicate: the rows whose value was not there before. With the parameter true it gives all of them, otherwise the
 * last row if its value is new, or null. With operand c an item has a value and its row, otherwise the value alone.
 */
export function deduplicateFinish(agg: AggregateSpec, list: usize, parameterTag: u8): void {
  const width: u32 = agg.c == NO_INPUT ? 1 : 2;
  const n = load<u32>(list, 4) / width;
  if (n == 0) {
    giveResult(Tag.NULL, 0);
    return;
  }
  if (parameterTag != Tag.BOOL) {
    giveResult(Tag.ERROR, parameterError(Agg.DEDUPLICATE, 'bool', parameterTag, load<u64>(list, 16)));
    return;
  }
  const slots = <usize>load<u32>(list);
  const all = load<u64>(list, 16) != 0;
  let mask: u32 = 15;
  while (mask < n * 2) mask = (mask << 1) + 1;
  // Table of the printed values seen: text u32 | len u32.
  const table = poolAlloc(ctx.scratch, (mask + 1) * 8);
  const result = poolAlloc(ctx.scratch, n * SLOT_SIZE);
  if (!table || !result) {
    giveResult(Tag.ERROR, noMemory('deduplicate'));
    return;
  }
  isFull = false;
  memory.fill(table, 0, (mask + 1) * 8);
  let kept: u32 = 0;
  let isLastNew = false;
  for (let i: u32 = 0; i < n; i++) {
    const slot = slots + i * width * SLOT_SIZE;
    isLastNew = isUnseen(table, mask, slot);
    if (!isLastNew) continue;
    memory.copy(result + kept * SLOT_SIZE, slot + (width - 1) * SLOT_SIZE, SLOT_SIZE);
    kept++;
  }
  if (isFull) giveResult(Tag.ERROR, noMemory('deduplicate'));
  else if (all) giveResult(Tag.ARRAY, span(result, kept));
  else if (isLastNew) {
    const last = result + (kept - 1) * SLOT_SIZE;
    giveResult(load<u8>(last, SLOT_TAG), load<u64>(last));
  } else giveResult(Tag.NULL, 0);
}

/** True when there was no memory for the text of a value. */
let isFull: bool = false;

function isUnseen(table: usize, mask: u32, slot: usize): bool {
  keyText(load<u8>(slot, SLOT_TAG), load<u64>(slot));
  let hash = bytesHash(keyOff, keyLen);
  let entry = table + ((<usize>(hash & mask)) << 3);
  while (load<u32>(entry)) {
    if (load<u32>(entry, 4) == keyLen && memory.compare(<usize>load<u32>(entry), keyOff, keyLen) == 0) return false;
    hash++;
    entry = table + ((<usize>(hash & mask)) << 3);
  }
  const copy = poolAlloc(ctx.scratch, keyLen + 1);
  if (!copy || textFails) {
    isFull = true;
    return true;
  }
  memory.copy(copy, keyOff, keyLen);
  store<u32>(entry, <u32>copy);
  store<u32>(entry, keyLen, 4);
  return true;
}
