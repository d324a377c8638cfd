// Candidates by hash: pairs whose keys cannot be equal are left out. Used only where the condition is false, without an
// error, for every pair left out: all values of a key that are not null are of one kind.
import { accountOf } from '../flow/node';
import { Tag } from '../mem/layout';
import { B_IS_TABLE, K_IS_PLAIN, K_LEFT, K_LEFT_BRANCH, K_RIGHT, T_BRANCH, T_KEYS, branchAt, keyAt, listAt, slotsOf } from './spec';
import { leftCount, node, placeOf, recordOf, rightCount, rights, spec, state, step } from './run';
import { LIST_INDEX, LIST_LOOKUPS, recordTag, recordVal } from './rows';
import { KIND_OTHER, NO_HASH, hashAdd, hashDone, kindOf, rightHash } from './keys';
import { indexAdd, indexAddRecord, indexCount, indexFirst, indexFree, indexKinds, indexNew, indexNext, indexRow } from './index';
import { addPair, outerIsRight } from './pairs';

/** A row costs as much to hash as so many pairs to judge. */
const PAIRS_PER_ROW: u64 = 4;

/** Adds the candidates of the step. False when they are not to be had this way: nothing was added then. */
export function hashPairs(): bool {
  const keys = load<u32>(step, T_KEYS);
  if (keys == 0) return false;
  const branch = load<u32>(step, T_BRANCH);
  if (!outerIsRight && load<u32>(branchAt(spec, branch), B_IS_TABLE)) {
    const kept = indexOfTable(listAt(state, branch), keys);
    return kept != 0 && probe(kept, keys);
  }
  if (!isWorthwhile(leftCount)) return false;
  const index = outerIsRight ? indexOfLefts(keys) : indexOfRights(keys);
  if (!index) return false;
  const done = probe(index, keys);
  indexFree(index, accountOf(node));
  return done;
}

/** True when an index pays for so many lookups of rows of the left side. */
function isWorthwhile(lookups: u32): bool {
  return <u64>lookups * rightCount >= (<u64>lookups + rightCount) * PAIRS_PER_ROW;
}

/** Index of a table, made once enough rows were looked up in vain; from then on rows are added to it as they come. */
function indexOfTable(list: usize, keys: u32): usize {
  const kept = <usize>load<u32>(list, LIST_INDEX);
  if (kept) return kept;
  const lookups = <u64>load<u32>(list, LIST_LOOKUPS) + leftCount;
  store<u32>(list, <u32>min<u64>(lookups, 0xffffffff), LIST_LOOKUPS);
  if (!isWorthwhile(load<u32>(list, LIST_LOOKUPS))) return 0;
  const index = indexOfRights(keys);
  store<u32>(list, <u32>index, LIST_INDEX);
  return index;
}

/** Makes an index of the rows of the right side; 0 when memory is exhausted. */
function indexOfRights(keys: u32): usize {
  const index = indexNew(spec, step, keys, rightCount, accountOf(node));
  if (!index) return 0;
  for (let r: u32 = 0; r < rightCount; r++) indexAddRecord(index, r, <usize>load<u32>(rights + (<usize>r << 2)));
  return index;
}

/** The same of the left side. */
function indexOfLefts(keys: u32): usize {
  const index = indexNew(spec, step, keys, leftCount, accountOf(node));
  if (!index) return 0;
  for (let l: u32 = 0; l < leftCount; l++) {
    for (let k: u32 = 0; k < keys; k++) indexCount(index, k, leftKind(keyAt(spec, step, k), l), 1);
    indexAdd(index, l, leftHash(l));
  }
  return index;
}

/** Looks the outer rows up. False when the kinds of the keys don't allow it: nothing was added then. */
function probe(index: usize, keys: u32): bool {
  for (let k: u32 = 0; k < keys; k++) {
    const kinds = indexKinds(index, k) | outerKinds(keyAt(spec, step, k));
    if (kinds & (1 << KIND_OTHER) || popcnt(kinds) > 1) return false;
  }
  const count = outerIsRight ? rightCount : leftCount;
  for (let o: u32 = 0; o < count; o++) {
    const hash = outerIsRight ? rightHash(spec, step, <usize>load<u32>(rights + (<usize>o << 2))) : leftHash(o);
    if (hash == NO_HASH) continue;
    for (let slot = indexFirst(index, hash); slot; slot = indexNext(index, slot)) {
      const i = indexRow(index, slot, hash);
      if (i >= 0 && !(outerIsRight ? addPair(i, o) : addPair(o, i))) return true;
    }
  }
  return true;
}

/** Kinds of a key's values among the outer rows, a bit for each; null has none. */
function outerKinds(key: usize): u32 {
  const count = outerIsRight ? rightCount : leftCount;
  const slots = slotsOf(branchAt(spec, load<u32>(step, T_BRANCH)));
  let kinds: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    kinds |= <u32>1 << (outerIsRight ? kindOf(recordTag(recordOf(-1, 0, i), slots, load<u32>(key, K_RIGHT))) : leftKind(key, i));
  }
  return kinds & ~1;
}

/** Kind of a key's value in row `l` of the left side. */
function leftKind(key: usize, l: u32): u32 {
  const branch = load<u32>(key, K_LEFT_BRANCH);
  const place = placeOf(branch);
  if (place < 0) return KIND_OTHER;
  const record = recordOf(place, l, 0);
  // What a computed key is without a row is not known here.
  if (!record) return load<u32>(key, K_IS_PLAIN) ? kindOf(Tag.MISSING) : KIND_OTHER;
  return kindOf(recordTag(record, slotsOf(branchAt(spec, branch)), load<u32>(key, K_LEFT)));
}

/** Hash of the keys of row `l` of the left side; NO_HASH when one of them is null. */
function leftHash(l: u32): u32 {
  const keys = load<u32>(step, T_KEYS);
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    const branch = load<u32>(key, K_LEFT_BRANCH);
    const place = placeOf(branch);
    const record: usize = place < 0 ? 0 : recordOf(place, l, 0);
    if (!record) return NO_HASH;
    const slot = load<u32>(key, K_LEFT);
    const tag = recordTag(record, slotsOf(branchAt(spec, branch)), slot);
    if (tag <= Tag.NULL) return NO_HASH;
    hash = hashAdd(hash, tag, recordVal(record, slot));
  }
  return hashDone(hash);
}
