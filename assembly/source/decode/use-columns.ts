// Columns come into use and go out of use while the source runs.
import { accountOf } from '../../node/node';
import { DefaultHead, DEFAULT_SIZE_OF, MAX_USES, STREAM_SIZE_OF } from '../../gen/source-layouts';
import { parseDocument, valuePayload, valueTag } from '../../json/parse';
import { fieldType, findField, kindOf, TypeKind, typeSize } from '../../json/type';
import { alloc, free } from '../../mem/alloc';
import { blockAt, ensureBlocks } from '../columns/blocks';
import { Source, SourceError, stateOf, StreamFlag } from '../columns/state';
import { messagePlanForget } from './message-plan';
import { stepsForget } from './steps';
import { Use, findUse, hashOf, NO_DEFAULT, NumberAs, USE_START, USE_SIZE, useAt, UseKind } from '../columns/use';
import { Node } from '../../gen/node-layouts';

/**
 * Adds a use of a column and returns its index in the batch, or a SourceError. `typePtr`: type of a field
 * (json/type.ts), 0 any. Name and type are copied.
 */
export function sourceUse(node: Node, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typePtr ? typeSize(typePtr) : 0;
  const count = state.useCount;
  let index = count;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    const refs = use.refs;
    if (!refs) {
      if (index == count) index = i;
      continue;
    }
    if (
      use.kind == kind &&
      use.nameLen == nameLen &&
      use.typeSize == size &&
      memory.compare(use.name, namePtr, nameLen) == 0 &&
      memory.compare(use.type, typePtr, size) == 0
    ) {
      use.refs = refs + 1;
      return <i32>i;
    }
  }
  return addUse(node, index, kind, namePtr, nameLen, typePtr);
}

/** As `sourceUse` of a column that the source does not have yet, at an index that is free. */
export function sourceUseAt(node: Node, index: u32, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  if (!ensureUse(state, index, accountOf(node))) return SourceError.MEMORY;
  for (let count = state.useCount; count < index; count++) {
    memory.fill(changetype<usize>(useAt(state, count)), 0, USE_SIZE);
    state.useCount = count + 1;
  }
  return addUse(node, index, kind, namePtr, nameLen, typePtr);
}

function addUse(node: Node, index: u32, kind: u32, namePtr: usize, nameLen: u32, typePtr: usize): i32 {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typePtr ? typeSize(typePtr) : 0;
  const count = state.useCount;
  if (index >= MAX_USES) return SourceError.TOO_MANY;
  if (!ensureBlocks(index + 1) || !ensureUse(state, index, account)) return SourceError.MEMORY;
  const name = alloc(nameLen, account);
  const type = size ? alloc(size, account) : 0;
  if (!name || (size && !type)) return SourceError.MEMORY;
  memory.copy(name, namePtr, nameLen);
  if (size) memory.copy(type, typePtr, size);
  const use = useAt(state, index);
  memory.fill(changetype<usize>(use), 0, USE_SIZE);
  use.name = name;
  use.nameLen = nameLen;
  use.kind = <u8>kind;
  use.typeKind = kindOf(type);
  use.defaultTag = NO_DEFAULT;
  use.type = type;
  use.typeSize = size;
  use.refs = 1;
  use.block = blockAt(index);
  memory.copy(changetype<usize>(use) + USE_START, name, min(nameLen, 16));
  const typeKind = kindOf(type);
  const isText = typeKind == TypeKind.ANY || typeKind == TypeKind.STRING;
  use.takesText = <u8>isText;
  use.numberAs = numberAs(typeKind, state.flags);
  if (kind == UseKind.FIELD) findDefault(state, use);
  if (index == count) state.useCount = count + 1;
  return relink(state, account) ? <i32>index : SourceError.MEMORY;
}

function numberAs(typeKind: u8, flags: u8): u8 {
  if (typeKind == TypeKind.ANY) return flags & StreamFlag.INTS ? NumberAs.WHOLE_I64 : NumberAs.F64;
  if (typeKind == TypeKind.FLOAT) return NumberAs.F64;
  return typeKind == TypeKind.BIGINT ? NumberAs.I64 : NumberAs.OTHER;
}

/** Gives a field in use another type of the same kind, which is copied; false when memory is exhausted. */
export function sourceRetype(node: Node, index: u32, typePtr: usize): bool {
  const state = stateOf(node);
  const account = accountOf(node);
  const size = typeSize(typePtr);
  const type = alloc(size, account);
  if (!type) return false;
  memory.copy(type, typePtr, size);
  const use = useAt(state, index);
  free(use.type, use.typeSize, account);
  use.type = type;
  use.typeSize = size;
  return true;
}

/** Takes back one use; with the last the column is no longer decoded and its index may be given to another. */
export function sourceRelease(node: Node, index: u32): void {
  const state = stateOf(node);
  if (index >= state.useCount) return;
  const use = useAt(state, index);
  const refs = use.refs;
  if (refs > 1) {
    use.refs = refs - 1;
    return;
  }
  if (!refs) return;
  const account = accountOf(node);
  freeUse(use, account);
  use.refs = 0;
  let count = state.useCount;
  while (count && useAt(state, count - 1).refs == 0) count--;
  state.useCount = count;
  relink(state, account);
}

function ensureUse(state: Source, index: u32, account: usize): bool {
  const capacity = state.useCapacity;
  if (index < capacity) return true;
  stepsForget(state, account); // they name uses by address
  let more = capacity ? capacity * 2 : 4;
  while (index >= more) more *= 2;
  const uses = alloc(more * USE_SIZE, account);
  if (!uses) return false;
  const old = state.uses;
  if (old) memory.copy(uses, old, capacity * USE_SIZE);
  free(old, capacity * USE_SIZE, account);
  state.uses = uses;
  state.useCapacity = more;
  return true;
}

/** Looks the DEFAULT of a declared column up in the spec. */
function findDefault(state: Source, use: Use): void {
  const spec = state.spec;
  const schema = state.schema;
  const stop = changetype<usize>(spec) + state.specSize;
  const name = use.name;
  const nameLen = use.nameLen;
  if (!schema) return;
  let at = changetype<DefaultHead>(changetype<usize>(spec) + STREAM_SIZE_OF + spec.typeSize);
  for (let n = spec.defaults; n > 0 && changetype<usize>(at) + DEFAULT_SIZE_OF <= stop; n--) {
    const entryName = changetype<usize>(at) + DEFAULT_SIZE_OF;
    const value = entryName + at.nameLen;
    const valueLen = at.valueLen;
    if (at.nameLen == nameLen && memory.compare(entryName, name, nameLen) == 0) {
      const field = findField(schema, name, nameLen);
      const type = field ? fieldType(field) : 0;
      if (parseDocument(value, valueLen, state.pool, 0, 64, kindOf(type) == TypeKind.DATETIME ? 0 : type)) {
        use.defaultTag = valueTag;
        use.defaultPayload = valuePayload;
      }
      return;
    }
    at = changetype<DefaultHead>(value + valueLen);
  }
}

/** Frees all uses and the table of their names. */
export function usesFree(state: Source, account: usize): void {
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) freeUse(useAt(state, i), account);
  free(state.uses, state.useCapacity * USE_SIZE, account);
  free(state.hash, state.hashSize * 2, account);
}

function freeUse(use: Use, account: usize): void {
  if (use.refs == 0) return;
  free(use.name, use.nameLen, account);
  free(use.type, use.typeSize, account);
}

/** Builds the name table and the set of kinds anew and forgets the steps. */
function relink(state: Source, account: usize): bool {
  stepsForget(state, account);
  messagePlanForget(state, account);
  const count = state.useCount;
  let size: u32 = 8;
  while (size < count * 2) size *= 2;
  let hash = state.hash;
  const oldSize = state.hashSize;
  if (size != oldSize) {
    const table = alloc(size * 2, account);
    if (!table) return false;
    free(hash, oldSize * 2, account);
    hash = table;
    state.hash = hash;
    state.hashSize = size;
  }
  memory.fill(hash, 0, size * 2);
  let kinds: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    use.next = 0;
    if (!use.refs) continue;
    const kind = use.kind;
    kinds |= (<u32>1) << kind;
    if (kind != UseKind.FIELD) continue;
    const name = use.name;
    const len = use.nameLen;
    const known = findUse(state, name, len);
    if (known) {
      const first = useAt(state, known - 1);
      use.next = first.next;
      first.next = i + 1;
      continue;
    }
    const h = hashOf(name, len);
    use.hash = h;
    let slot = h & (size - 1);
    while (load<u16>(hash + (slot << 1))) slot = (slot + 1) & (size - 1);
    store<u16>(hash + (slot << 1), <u16>(i + 1));
  }
  state.kinds = kinds;
  return true;
}
