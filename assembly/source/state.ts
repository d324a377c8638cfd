// State of a source and the columns it decodes.
// The spec is drawn in gen/source-layouts.ts.
import { alloc, allocZeroed, free, WORKSPACE } from '../mem/alloc';
import { COL_SIZE } from '../mem/layout';
import { poolFree, poolInit } from '../mem/pool';
import { accountOf, N_STATE, N_STATE_SIZE } from '../flow/node';
import { parseDocument, valuePayload, valueTag } from '../json/parse';
import { findField, fieldType, kindOf, TypeKind, typeSize } from '../json/type';
import { stepsForget } from './steps';
import {
  DEFAULT_NAME_LEN, DEFAULT_SIZE_OF, DEFAULT_VALUE_LEN, MAX_USES, STREAM_DEFAULTS, STREAM_FLAGS as S_FLAGS, STREAM_SIZE_OF,
  STREAM_TYPE_SIZE, SourceError, StreamFlag, UseKind,
} from '../gen/source-layouts';

export { Framing, InputFormat, StreamFlag, UseKind } from '../gen/source-layouts';
export {
  STREAM_FRAMING as S_FRAMING, STREAM_VERSION as S_VERSION, STREAM_FORMAT as S_FORMAT, STREAM_FLAGS as S_FLAGS,
  STREAM_MAX_DEPTH as S_MAX_DEPTH, STREAM_MAX_MESSAGE as S_MAX_MESSAGE,
} from '../gen/source-layouts';
/** Struct type of the declared columns, 0 without schema. */
export const S_SCHEMA: usize = 12;
const S_SPEC: usize = 16;
const S_SPEC_SIZE: usize = 20;
const S_USES: usize = 24;
const S_USE_CAPACITY: usize = 28;
/** Indexes handed out so far, free ones included. */
export const S_USE_COUNT: usize = 32;
const S_HASH: usize = 36;
const S_HASH_SIZE: usize = 40; // entries, a power of two
/** Bit 1 << kind for every kind in use. */
export const S_KINDS: usize = 44;
/** Steps of the decoder, see steps.ts. */
export const S_STEPS: usize = 48;
export const S_STEP_COUNT: usize = 52;
export const S_STEP_CAPACITY: usize = 56;
export const S_STEP_MISSES: usize = 60;
/** Whom their memory is accounted to. */
export const S_STEP_ACCOUNT: usize = 64;
/** Offset in the message under way of the next element of a payload that is a list of rows; 0 none. */
export const S_RESUME: usize = 76;
export const S_MESSAGES: usize = 80;
export const S_BYTES: usize = 88;
export const S_DECODE_ERRORS: usize = 96;
export const S_OVERSIZED: usize = 104;
/** Bytes of an oversized message still to skip; u64.MAX_VALUE: to the next line feed. */
export const S_SKIP: usize = 112;
/** Topic aliases of MQTT 5: table of 65536 entries of off u32 | len u32, made with the first alias. */
export const S_ALIASES: usize = 120;
/** Pool of default values. */
const S_POOL: usize = 128;
export const STATE_SIZE: u32 = 160;


// use: 64 bytes, one for each column index
//   0    nameOff u32 | nameLen u32
//   8    kind u8 | typeKind u8 | defaultTag u8 (0xff none) | numberAs u8
//   12   type u32 | typeSize u32
//   20   refs u32
//   24   next u32      index + 1 of the next field of the same name and another type
//   28   hash u32
//   32   defaultPayload u64
//   40   takesText u8 (strings are stored as they are) | 0 … | 44 block u32
//   48   first 16 bytes of the name, zeros behind it
export const USE_SIZE: u32 = 64;
export const U_NAME: usize = 0;
export const U_NAME_LEN: usize = 4;
export const U_KIND: usize = 8;
export const U_TYPE_KIND: usize = 9;
export const U_DEFAULT_TAG: usize = 10;
export const U_NUMBER: usize = 11;
export const U_TYPE: usize = 12;
const U_TYPE_SIZE: usize = 16;
export const U_REFS: usize = 20;
export const U_NEXT: usize = 24;
const U_HASH: usize = 28;
export const U_DEFAULT: usize = 32;
export const U_TEXT: usize = 40;
export const U_BLOCK: usize = 44;
const U_START: usize = 48;
const NO_DEFAULT: u8 = 0xff;

/** How a number goes into a column: as a double, an exact integer, an integer where whole, or converted (json/parse.ts). */
export namespace NumberAs {
  export const F64: u8 = 0;
  export const I64: u8 = 1;
  export const WHOLE_I64: u8 = 2;
  export const OTHER: u8 = 3;
}

/**
 * Column blocks by index, shared by all sources: only one batch is under way at a time.
 * colsTable is the u32 table of their addresses, good as ctx.cols.
 */
export let colsTable: usize = 0;
let tableSize: u32 = 0;
let blockCount: u32 = 0;

function ensureBlocks(count: u32): bool {
  if (count > tableSize) {
    const size = max(count, max(64, tableSize * 2));
    const table = alloc(size * 4, WORKSPACE);
    if (!table) return false;
    if (blockCount) memory.copy(table, colsTable, blockCount * 4);
    free(colsTable, tableSize * 4, WORKSPACE);
    colsTable = table;
    tableSize = size;
  }
  while (blockCount < count) {
    const block = allocZeroed(COL_SIZE, WORKSPACE);
    if (!block) return false;
    store<u32>(colsTable + (<usize>blockCount << 2), <u32>block);
    blockCount++;
  }
  return true;
}

// @ts-ignore: decorator
@inline export function blockAt(index: u32): usize {
  return <usize>load<u32>(colsTable + (<usize>index << 2));
}

// @ts-ignore: decorator
@inline export function stateOf(node: usize): usize {
  return <usize>load<u32>(node, N_STATE);
}

// @ts-ignore: decorator
@inline export function useAt(state: usize, index: u32): usize {
  return <usize>load<u32>(state, S_USES) + <usize>index * USE_SIZE;
}

/** Builds the state from the spec (copied). Returns 0 or a SourceError. */
export function sourceInit(node: usize, specPtr: usize, specLen: u32): i32 {
  if (specLen < STREAM_SIZE_OF) return SourceError.SPEC;
  const schemaSize = load<u32>(specPtr, STREAM_TYPE_SIZE);
  if (schemaSize > specLen - STREAM_SIZE_OF) return SourceError.SPEC;
  const account = accountOf(node);
  const state = allocZeroed(STATE_SIZE, account);
  if (!state) return SourceError.MEMORY;
  const spec = alloc(specLen, account);
  if (!spec) {
    free(state, STATE_SIZE, account);
    return SourceError.MEMORY;
  }
  memory.copy(spec, specPtr, specLen);
  memory.copy(state, spec, 12);
  store<u32>(state, schemaSize ? <u32>(spec + STREAM_SIZE_OF) : 0, S_SCHEMA);
  store<u32>(state, <u32>spec, S_SPEC);
  store<u32>(state, specLen, S_SPEC_SIZE);
  poolInit(state + S_POOL, 128, account);
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, STATE_SIZE, N_STATE_SIZE);
  return 0;
}

/** Frees everything the source holds except the node. */
export function sourceFree(node: usize): void {
  const state = stateOf(node);
  if (!state) return;
  const account = accountOf(node);
  const count = load<u32>(state, S_USE_COUNT);
  for (let i: u32 = 0; i < count; i++) freeUse(useAt(state, i), account);
  free(<usize>load<u32>(state, S_USES), load<u32>(state, S_USE_CAPACITY) * USE_SIZE, account);
  free(<usize>load<u32>(state, S_HASH), load<u32>(state, S_HASH_SIZE) * 2, account);
  stepsForget(state, account);
  aliasesForget(state, account);
  poolFree(state + S_POOL);
  free(<usize>load<u32>(state, S_SPEC), load<u32>(state, S_SPEC_SIZE), account);
  free(state, STATE_SIZE, account);
  store<u32>(node, 0, N_STATE);
}

/** Drops the topic aliases: they belong to a connection. */
export function aliasesForget(state: usize, account: usize): void {
  const table = <usize>load<u32>(state, S_ALIASES);
  if (!table) return;
  for (let i: usize = 0; i < 65536; i++) free(<usize>load<u32>(table + (i << 3)), load<u32>(table + (i << 3), 4), account);
  free(table, 65536 * 8, account);
  store<u32>(state, 0, S_ALIASES);
}

function freeUse(use: usize, account: usize): void {
  if (load<u32>(use, U_REFS) == 0) return;
  free(<usize>load<u32>(use, U_NAME), load<u32>(use, U_NAME_LEN), account);
  free(<usize>load<u32>(use, U_TYPE), load<u32>(use, U_TYPE_SIZE), account);
}

/**
 * Adds a use of a column and returns its index in the batch, or a SourceError. `typePtr`: type of a field (json/type.ts),
 * 0 any. Name and type are copied.
 */
export function sourceUse(node: usize, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typePtr ? typeSize(typePtr) : 0;
  const count = load<u32>(state, S_USE_COUNT);
  let index = count;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    const refs = load<u32>(use, U_REFS);
    if (!refs) {
      if (index == count) index = i;
      continue;
    }
    if (
      load<u8>(use, U_KIND) == kind && load<u32>(use, U_NAME_LEN) == nameLen && load<u32>(use, U_TYPE_SIZE) == size &&
      memory.compare(<usize>load<u32>(use, U_NAME), namePtr, nameLen) == 0 &&
      memory.compare(<usize>load<u32>(use, U_TYPE), typePtr, size) == 0
    ) {
      store<u32>(use, refs + 1, U_REFS);
      return <i32>i;
    }
  }
  if (index == MAX_USES) return SourceError.TOO_MANY;
  if (!ensureBlocks(index + 1) || !ensureUse(state, index, account)) return SourceError.MEMORY;
  const name = alloc(nameLen, account);
  const type = size ? alloc(size, account) : 0;
  if (!name || (size && !type)) return SourceError.MEMORY;
  memory.copy(name, namePtr, nameLen);
  if (size) memory.copy(type, typePtr, size);
  const use = useAt(state, index);
  memory.fill(use, 0, USE_SIZE);
  store<u32>(use, <u32>name, U_NAME);
  store<u32>(use, nameLen, U_NAME_LEN);
  store<u8>(use, <u8>kind, U_KIND);
  store<u8>(use, kindOf(type), U_TYPE_KIND);
  store<u8>(use, NO_DEFAULT, U_DEFAULT_TAG);
  store<u32>(use, <u32>type, U_TYPE);
  store<u32>(use, size, U_TYPE_SIZE);
  store<u32>(use, 1, U_REFS);
  store<u32>(use, <u32>blockAt(index), U_BLOCK);
  memory.copy(use + U_START, name, min(nameLen, 16));
  const typeKind = kindOf(type);
  const isText = typeKind == TypeKind.ANY || typeKind == TypeKind.STRING;
  store<u8>(use, <u8>isText, U_TEXT);
  store<u8>(use, numberAs(typeKind, load<u8>(state, S_FLAGS)), U_NUMBER);
  if (kind == UseKind.FIELD) findDefault(state, use);
  if (index == count) store<u32>(state, count + 1, S_USE_COUNT);
  return relink(state, account) ? <i32>index : SourceError.MEMORY;
}

function numberAs(typeKind: u8, flags: u8): u8 {
  if (typeKind == TypeKind.ANY) return flags & StreamFlag.INTS ? NumberAs.WHOLE_I64 : NumberAs.F64;
  if (typeKind == TypeKind.FLOAT) return NumberAs.F64;
  return typeKind == TypeKind.BIGINT ? NumberAs.I64 : NumberAs.OTHER;
}

/** Takes back one use; with the last the column is no longer decoded and its index may be given to another. */
export function sourceRelease(node: usize, index: u32): void {
  const state = stateOf(node);
  if (index >= load<u32>(state, S_USE_COUNT)) return;
  const use = useAt(state, index);
  const refs = load<u32>(use, U_REFS);
  if (refs > 1) {
    store<u32>(use, refs - 1, U_REFS);
    return;
  }
  if (!refs) return;
  const account = accountOf(node);
  freeUse(use, account);
  store<u32>(use, 0, U_REFS);
  let count = load<u32>(state, S_USE_COUNT);
  while (count && load<u32>(useAt(state, count - 1), U_REFS) == 0) count--;
  store<u32>(state, count, S_USE_COUNT);
  relink(state, account);
}

function ensureUse(state: usize, index: u32, account: usize): bool {
  const capacity = load<u32>(state, S_USE_CAPACITY);
  if (index < capacity) return true;
  stepsForget(state, account); // they name uses by address
  const more = capacity ? capacity * 2 : 4;
  const uses = alloc(more * USE_SIZE, account);
  if (!uses) return false;
  const old = <usize>load<u32>(state, S_USES);
  if (old) memory.copy(uses, old, capacity * USE_SIZE);
  free(old, capacity * USE_SIZE, account);
  store<u32>(state, <u32>uses, S_USES);
  store<u32>(state, more, S_USE_CAPACITY);
  return true;
}

/** Looks the DEFAULT of a declared column up in the spec. */
function findDefault(state: usize, use: usize): void {
  const spec = <usize>load<u32>(state, S_SPEC);
  const schema = <usize>load<u32>(state, S_SCHEMA);
  const stop = spec + load<u32>(state, S_SPEC_SIZE);
  const name = <usize>load<u32>(use, U_NAME);
  const nameLen = load<u32>(use, U_NAME_LEN);
  if (!schema) return;
  let at = spec + STREAM_SIZE_OF + load<u32>(spec, STREAM_TYPE_SIZE);
  for (let n = load<u32>(spec, STREAM_DEFAULTS); n > 0 && at + DEFAULT_SIZE_OF <= stop; n--) {
    const entryName = at + DEFAULT_SIZE_OF;
    const value = entryName + load<u32>(at, DEFAULT_NAME_LEN);
    const valueLen = load<u32>(at, DEFAULT_VALUE_LEN);
    if (load<u32>(at, DEFAULT_NAME_LEN) == nameLen && memory.compare(entryName, name, nameLen) == 0) {
      const field = findField(schema, name, nameLen);
      const type = field ? fieldType(field) : 0;
      if (parseDocument(value, valueLen, state + S_POOL, 0, 64, kindOf(type) == TypeKind.DATETIME ? 0 : type)) {
        store<u8>(use, valueTag, U_DEFAULT_TAG);
        store<u64>(use, valuePayload, U_DEFAULT);
      }
      return;
    }
    at = value + valueLen;
  }
}

// @ts-ignore: decorator
@inline function hashOf(name: usize, len: u32): u32 {
  let h: u64 = len;
  if (len >= 8) h ^= load<u64>(name) ^ (load<u64>(name + len - 8) * 0x9e3779b97f4a7c15);
  else h ^= (load<u64>(name) & (((<u64>1 << (len << 3)) - 1))) << 3;
  h *= 0xbf58476d1ce4e5b9;
  return <u32>(h >> 32);
}

/** Builds the name table and the set of kinds anew and forgets the steps. */
function relink(state: usize, account: usize): bool {
  stepsForget(state, account);
  const count = load<u32>(state, S_USE_COUNT);
  let size: u32 = 8;
  while (size < count * 2) size *= 2;
  let hash = <usize>load<u32>(state, S_HASH);
  const oldSize = load<u32>(state, S_HASH_SIZE);
  if (size != oldSize) {
    const table = alloc(size * 2, account);
    if (!table) return false;
    free(hash, oldSize * 2, account);
    hash = table;
    store<u32>(state, <u32>hash, S_HASH);
    store<u32>(state, size, S_HASH_SIZE);
  }
  memory.fill(hash, 0, size * 2);
  let kinds: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    store<u32>(use, 0, U_NEXT);
    if (!load<u32>(use, U_REFS)) continue;
    const kind = load<u8>(use, U_KIND);
    kinds |= <u32>1 << kind;
    if (kind != UseKind.FIELD) continue;
    const name = <usize>load<u32>(use, U_NAME);
    const len = load<u32>(use, U_NAME_LEN);
    const known = findUse(state, name, len);
    if (known) {
      const first = useAt(state, known - 1);
      store<u32>(use, load<u32>(first, U_NEXT), U_NEXT);
      store<u32>(first, i + 1, U_NEXT);
      continue;
    }
    const h = hashOf(name, len);
    store<u32>(use, h, U_HASH);
    let slot = h & (size - 1);
    while (load<u16>(hash + (slot << 1))) slot = (slot + 1) & (size - 1);
    store<u16>(hash + (slot << 1), <u16>(i + 1));
  }
  store<u32>(state, kinds, S_KINDS);
  return true;
}

/** Index + 1 of the first field use of that name, 0 when nobody needs it. Reads 16 bytes at `name`. */
export function findUse(state: usize, name: usize, len: u32): u32 {
  const hash = <usize>load<u32>(state, S_HASH);
  // No rule of the stream reads a column: `SELECT 1 FROM s`.
  if (!hash) return 0;
  const mask = load<u32>(state, S_HASH_SIZE) - 1;
  const h = hashOf(name, len);
  let slot = h & mask;
  while (true) {
    const found = <u32>load<u16>(hash + (slot << 1));
    if (!found) return 0;
    const use = useAt(state, found - 1);
    if (load<u32>(use, U_HASH) == h && load<u32>(use, U_NAME_LEN) == len) {
      const equal = <u32>i8x16.bitmask(i8x16.eq(v128.load(use, U_START), v128.load(name)));
      if (len <= 16) {
        if (len == 16 ? equal == 0xffff : (~equal & ((1 << len) - 1)) == 0) return found;
      } else if (equal == 0xffff && memory.compare(<usize>load<u32>(use, U_NAME) + 16, name + 16, len - 16) == 0) return found;
    }
    slot = (slot + 1) & mask;
  }
}

export function hasDefault(use: usize): bool {
  return load<u8>(use, U_DEFAULT_TAG) != NO_DEFAULT;
}
