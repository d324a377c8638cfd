// Columns come into use and go out of use while the source runs.
import { accountOf } from '../../node/node';
import {
  DEFAULT_NAME_LEN,
  DEFAULT_SIZE_OF,
  DEFAULT_VALUE_LEN,
  MAX_USES,
  STREAM_DEFAULTS,
  STREAM_SIZE_OF,
  STREAM_TYPE_SIZE,
} from '../../gen/source-layouts';
import { parseDocument, valuePayload, valueTag } from '../../json/parse';
import { fieldType, findField, kindOf, TypeKind, typeSize } from '../../json/type';
import { alloc, free } from '../../mem/alloc';
import { blockAt, ensureBlocks } from '../columns/blocks';
import {
  STREAM_FLAGS,
  SOURCE_HASH,
  SOURCE_HASH_SIZE,
  SOURCE_KINDS,
  SOURCE_POOL,
  SOURCE_SCHEMA,
  SOURCE_SPEC,
  SOURCE_SPEC_SIZE,
  SOURCE_USE_CAPACITY,
  SOURCE_USE_COUNT,
  SOURCE_USES,
  SourceError,
  stateOf,
  StreamFlag,
} from '../columns/state';
import { stepsForget } from './steps';
import {
  findUse,
  hashOf,
  NO_DEFAULT,
  NumberAs,
  USE_BLOCK,
  USE_DEFAULT,
  USE_DEFAULT_TAG,
  USE_HASH,
  USE_KIND,
  USE_NAME,
  USE_NAME_LEN,
  USE_NEXT,
  USE_NUMBER,
  USE_REFS,
  USE_START,
  USE_TEXT,
  USE_TYPE,
  USE_TYPE_KIND,
  USE_TYPE_SIZE,
  USE_SIZE,
  useAt,
  UseKind,
} from '../columns/use';

/**
 * Adds a use of a column and returns its index in the batch, or a SourceError. `typePtr`: type of a field
 * (json/type.ts), 0 any. Name and type are copied.
 */
export function sourceUse(node: usize, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typePtr ? typeSize(typePtr) : 0;
  const count = load<u32>(state, SOURCE_USE_COUNT);
  let index = count;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    const refs = load<u32>(use, USE_REFS);
    if (!refs) {
      if (index == count) index = i;
      continue;
    }
    if (
      load<u8>(use, USE_KIND) == kind &&
      load<u32>(use, USE_NAME_LEN) == nameLen &&
      load<u32>(use, USE_TYPE_SIZE) == size &&
      memory.compare(<usize>load<u32>(use, USE_NAME), namePtr, nameLen) == 0 &&
      memory.compare(<usize>load<u32>(use, USE_TYPE), typePtr, size) == 0
    ) {
      store<u32>(use, refs + 1, USE_REFS);
      return <i32>i;
    }
  }
  return addUse(node, index, kind, namePtr, nameLen, typePtr);
}

/** As `sourceUse` of a column that the source does not have yet, at an index that is free. */
export function sourceUseAt(node: usize, index: u32, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  if (!ensureUse(state, index, accountOf(node))) return SourceError.MEMORY;
  for (let count = load<u32>(state, SOURCE_USE_COUNT); count < index; count++) {
    memory.fill(useAt(state, count), 0, USE_SIZE);
    store<u32>(state, count + 1, SOURCE_USE_COUNT);
  }
  return addUse(node, index, kind, namePtr, nameLen, typePtr);
}

function addUse(node: usize, index: u32, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typePtr ? typeSize(typePtr) : 0;
  const count = load<u32>(state, SOURCE_USE_COUNT);
  if (index >= MAX_USES) return SourceError.TOO_MANY;
  if (!ensureBlocks(index + 1) || !ensureUse(state, index, account)) return SourceError.MEMORY;
  const name = alloc(nameLen, account);
  const type = size ? alloc(size, account) : 0;
  if (!name || (size && !type)) return SourceError.MEMORY;
  memory.copy(name, namePtr, nameLen);
  if (size) memory.copy(type, typePtr, size);
  const use = useAt(state, index);
  memory.fill(use, 0, USE_SIZE);
  store<u32>(use, <u32>name, USE_NAME);
  store<u32>(use, nameLen, USE_NAME_LEN);
  store<u8>(use, <u8>kind, USE_KIND);
  store<u8>(use, kindOf(type), USE_TYPE_KIND);
  store<u8>(use, NO_DEFAULT, USE_DEFAULT_TAG);
  store<u32>(use, <u32>type, USE_TYPE);
  store<u32>(use, size, USE_TYPE_SIZE);
  store<u32>(use, 1, USE_REFS);
  store<u32>(use, <u32>blockAt(index), USE_BLOCK);
  memory.copy(use + USE_START, name, min(nameLen, 16));
  const typeKind = kindOf(type);
  const isText = typeKind == TypeKind.ANY || typeKind == TypeKind.STRING;
  store<u8>(use, <u8>isText, USE_TEXT);
  store<u8>(use, numberAs(typeKind, load<u8>(state, STREAM_FLAGS)), USE_NUMBER);
  if (kind == UseKind.FIELD) findDefault(state, use);
  if (index == count) store<u32>(state, count + 1, SOURCE_USE_COUNT);
  return relink(state, account) ? <i32>index : SourceError.MEMORY;
}

function numberAs(typeKind: u8, flags: u8): u8 {
  if (typeKind == TypeKind.ANY) return flags & StreamFlag.INTS ? NumberAs.WHOLE_I64 : NumberAs.F64;
  if (typeKind == TypeKind.FLOAT) return NumberAs.F64;
  return typeKind == TypeKind.BIGINT ? NumberAs.I64 : NumberAs.OTHER;
}

/** Gives a field in use another type of the same kind, which is copied; false when memory is exhausted. */
export function sourceRetype(node: usize, index: u32, typePtr: usize): bool {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typeSize(typePtr);
  const type = alloc(size, account);
  if (!type) return false;
  memory.copy(type, typePtr, size);
  const use = useAt(state, index);
  free(<usize>load<u32>(use, USE_TYPE), load<u32>(use, USE_TYPE_SIZE), account);
  store<u32>(use, <u32>type, USE_TYPE);
  store<u32>(use, size, USE_TYPE_SIZE);
  return true;
}

/** Takes back one use; with the last the column is no longer decoded and its index may be given to another. */
export function sourceRelease(node: usize, index: u32): void {
  const state = stateOf(node);
  if (index >= load<u32>(state, SOURCE_USE_COUNT)) return;
  const use = useAt(state, index);
  const refs = load<u32>(use, USE_REFS);
  if (refs > 1) {
    store<u32>(use, refs - 1, USE_REFS);
    return;
  }
  if (!refs) return;
  const account = accountOf(node);
  freeUse(use, account);
  store<u32>(use, 0, USE_REFS);
  let count = load<u32>(state, SOURCE_USE_COUNT);
  while (count && load<u32>(useAt(state, count - 1), USE_REFS) == 0) count--;
  store<u32>(state, count, SOURCE_USE_COUNT);
  relink(state, account);
}

function ensureUse(state: usize, index: u32, account: usize): bool {
  const capacity = load<u32>(state, SOURCE_USE_CAPACITY);
  if (index < capacity) return true;
  stepsForget(state, account); // they name uses by address
  let more = capacity ? capacity * 2 : 4;
  while (index >= more) more *= 2;
  const uses = alloc(more * USE_SIZE, account);
  if (!uses) return false;
  const old = <usize>load<u32>(state, SOURCE_USES);
  if (old) memory.copy(uses, old, capacity * USE_SIZE);
  free(old, capacity * USE_SIZE, account);
  store<u32>(state, <u32>uses, SOURCE_USES);
  store<u32>(state, more, SOURCE_USE_CAPACITY);
  return true;
}

/** Looks the DEFAULT of a declared column up in the spec. */
function findDefault(state: usize, use: usize): void {
  const spec = <usize>load<u32>(state, SOURCE_SPEC);
  const schema = <usize>load<u32>(state, SOURCE_SCHEMA);
  const stop = spec + load<u32>(state, SOURCE_SPEC_SIZE);
  const name = <usize>load<u32>(use, USE_NAME);
  const nameLen = load<u32>(use, USE_NAME_LEN);
  if (!schema) return;
  let at = spec + STREAM_SIZE_OF + load<u32>(spec, STREAM_TYPE_SIZE);
  for (let n = load<u32>(spec, STREAM_DEFAULTS); n > 0 && at + DEFAULT_SIZE_OF <= stop; n--) {
    const entryName = at + DEFAULT_SIZE_OF;
    const value = entryName + load<u32>(at, DEFAULT_NAME_LEN);
    const valueLen = load<u32>(at, DEFAULT_VALUE_LEN);
    if (load<u32>(at, DEFAULT_NAME_LEN) == nameLen && memory.compare(entryName, name, nameLen) == 0) {
      const field = findField(schema, name, nameLen);
      const type = field ? fieldType(field) : 0;
      if (parseDocument(value, valueLen, state + SOURCE_POOL, 0, 64, kindOf(type) == TypeKind.DATETIME ? 0 : type)) {
        store<u8>(use, valueTag, USE_DEFAULT_TAG);
        store<u64>(use, valuePayload, USE_DEFAULT);
      }
      return;
    }
    at = value + valueLen;
  }
}

/** Frees all uses and the table of their names. */
export function usesFree(state: usize, account: usize): void {
  const count = load<u32>(state, SOURCE_USE_COUNT);
  for (let i: u32 = 0; i < count; i++) freeUse(useAt(state, i), account);
  free(<usize>load<u32>(state, SOURCE_USES), load<u32>(state, SOURCE_USE_CAPACITY) * USE_SIZE, account);
  free(<usize>load<u32>(state, SOURCE_HASH), load<u32>(state, SOURCE_HASH_SIZE) * 2, account);
}

function freeUse(use: usize, account: usize): void {
  if (load<u32>(use, USE_REFS) == 0) return;
  free(<usize>load<u32>(use, USE_NAME), load<u32>(use, USE_NAME_LEN), account);
  free(<usize>load<u32>(use, USE_TYPE), load<u32>(use, USE_TYPE_SIZE), account);
}

/** Builds the name table and the set of kinds anew and forgets the steps. */
function relink(state: usize, account: usize): bool {
  stepsForget(state, account);
  const count = load<u32>(state, SOURCE_USE_COUNT);
  let size: u32 = 8;
  while (size < count * 2) size *= 2;
  let hash = <usize>load<u32>(state, SOURCE_HASH);
  const oldSize = load<u32>(state, SOURCE_HASH_SIZE);
  if (size != oldSize) {
    const table = alloc(size * 2, account);
    if (!table) return false;
    free(hash, oldSize * 2, account);
    hash = table;
    store<u32>(state, <u32>hash, SOURCE_HASH);
    store<u32>(state, size, SOURCE_HASH_SIZE);
  }
  memory.fill(hash, 0, size * 2);
  let kinds: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    store<u32>(use, 0, USE_NEXT);
    if (!load<u32>(use, USE_REFS)) continue;
    const kind = load<u8>(use, USE_KIND);
    kinds |= (<u32>1) << kind;
    if (kind != UseKind.FIELD) continue;
    const name = <usize>load<u32>(use, USE_NAME);
    const len = load<u32>(use, USE_NAME_LEN);
    const known = findUse(state, name, len);
    if (known) {
      const first = useAt(state, known - 1);
      store<u32>(use, load<u32>(first, USE_NEXT), USE_NEXT);
      store<u32>(first, i + 1, USE_NEXT);
      continue;
    }
    const h = hashOf(name, len);
    store<u32>(use, h, USE_HASH);
    let slot = h & (size - 1);
    while (load<u16>(hash + (slot << 1))) slot = (slot + 1) & (size - 1);
    store<u16>(hash + (slot << 1), <u16>(i + 1));
  }
  store<u32>(state, kinds, SOURCE_KINDS);
  return true;
}
