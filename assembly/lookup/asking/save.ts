// Rows that wait for answers, as saved state: they are asked for again.
import * as ctx from '../../batch/context';
import { accountOf } from '../../node/node';
import { Signal } from '../../node/operator';
import { LookupFlag } from '../../gen/lookup-layouts';
import { LoadFault } from '../../gen/state-layouts';
import { BATCH_ROWS, Tag, lenOf, offOf } from '../../mem/layout';
import { Pool, poolFree, poolInit, poolReset } from '../../mem/pool';
import { Rows, ROWS_SIZE } from '../../rows/layout';
import { rowsLoad, rowsSave } from '../../rows/save';
import { Members } from '../../state/members';
import { rowsFree, rowsInit } from '../../rows/store';
import {
  readBool,
  readBytes,
  readFail,
  readFails,
  readLength,
  readU64,
  readUpTo,
  readValue,
  readVersion,
  valueRead,
} from '../../state/reader';
import { writeBool, writeBytes, writeU32, writeU64, writeValue, writeVersion } from '../../state/writer';
import { Answer, entryJoin, entryNew, entryOf, entryTag, entryVal } from './answers';
import { setKey } from '../find';
import {
  Queue,
  Item,
  itemCount,
  itemEntries,
  itemEntry,
  itemNext,
  itemRows,
  itemSignal,
  itemValue,
  queueFirst,
  queueRows,
  queueSignal,
} from './queue';
import { isKey } from '../names-index';
import { hasStates, statesLoad, statesSave } from './partitions';
import { FRESH, ask } from './send';
import { answersOf, hasFlag, queueOf, specOf } from './asking';
import { Node } from '../../gen/node-layouts';

const VERSION: u32 = 1;

/** Saves the rows that wait, with their key values, which are asked for again. Remembered answers are not saved. */
export function askSave(node: Node): void {
  const spec = specOf(node);
  const keys = spec.keys;
  writeVersion(VERSION);
  if (hasStates(node)) statesSave(node);
  let items: u32 = 0;
  for (let item = queueFirst(changetype<Queue>(queueOf(node))); item; item = itemNext(item)) items++;
  writeU32(items);
  for (let item = queueFirst(changetype<Queue>(queueOf(node))); item; item = itemNext(item)) {
    writeU32(itemSignal(item));
    if (itemSignal(item)) {
      const hasText = itemSignal(item) == Signal.END && offOf(itemValue(item)) != 0;
      writeBool(hasText);
      if (hasText) writeBytes(offOf(itemValue(item)), lenOf(itemValue(item)));
      else writeU64(itemSignal(item) == Signal.END ? 0 : itemValue(item));
      continue;
    }
    rowsSave(itemRows(item));
    const count = itemCount(item);
    for (let i: u32 = 0; i < count; i++) {
      const entry = itemEntry(item, i);
      writeBool(!!entry);
      for (let k: u32 = 0; entry && k < keys; k++) writeValue(entryTag(entry, keys, k), entryVal(entry, k));
    }
  }
}

const POOL: Pool = changetype<Pool>(memory.data(32, 16));

const ASIDE: Rows = changetype<Rows>(memory.data(64, 16));

export function askLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  if (hasStates(node)) statesLoad(node);
  if (readFails()) return false;
  const items = readLength();
  poolInit(POOL, 1024, accountOf(node));
  for (let i: u32 = 0; i < items && !readFails(); i++) loadItem(node);
  poolFree(POOL);
  return !readFails();
}

function loadItem(node: Node): void {
  const acct = accountOf(node);
  const signal = readUpTo(Signal.START);
  if (signal) {
    const hasText = readBool();
    const value = hasText ? readBytes(POOL) : readU64();
    if (!readFails() && !queueSignal(changetype<Queue>(queueOf(node)), signal, value, hasText, acct))
      readFail(LoadFault.MEMORY);
    poolReset(POOL);
    return;
  }
  const spec = specOf(node);
  const rows = ASIDE;
  rowsInit(rows, spec.columns + 1, 0, acct);
  rowsLoad(rows, Members.ROWS);
  const count = rows.count;
  const item: Item =
    readFails() || count > BATCH_ROWS
      ? changetype<Item>(0)
      : queueRows(changetype<Queue>(queueOf(node)), count, 0, acct);
  if (!item) {
    rowsFree(rows);
    if (!readFails()) readFail(count > BATCH_ROWS ? LoadFault.DAMAGED : LoadFault.MEMORY);
    return;
  }
  memory.copy(changetype<usize>(itemRows(item)), changetype<usize>(rows), ROWS_SIZE);
  const keys = spec.keys;
  const isEach = hasFlag(spec, LookupFlag.IS_EACH);
  let fresh: u32 = 0;
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    if (!readBool()) continue;
    let isKeys = true;
    for (let k: u32 = 0; k < keys; k++) {
      const tag = readValue(POOL);
      isKeys = isKeys && (isEach || isKey(tag)) && tag <= Tag.ERROR;
      setKey(k, tag, valueRead);
    }
    if (readFails()) break;
    if (!isKeys) {
      readFail(LoadFault.DAMAGED);
      break;
    }
    let entry: Answer = isEach ? changetype<Answer>(0) : entryOf(answersOf(node), keys, ctx.nowMs, acct);
    if (!entry) {
      entry = entryNew(answersOf(node), keys, u32.MAX_VALUE, isEach, acct);
      if (entry) store<u32>(FRESH + ((fresh++ as usize) << 2), changetype<u32>(entry));
      else readFail(LoadFault.MEMORY);
    }
    if (entry) {
      entryJoin(entry);
      store<u32>(itemEntries(item) + ((<usize>i) << 2), changetype<u32>(entry));
    }
    poolReset(POOL);
  }
  if (fresh && !readFails() && !ask(node, fresh)) readFail(LoadFault.MEMORY);
}
