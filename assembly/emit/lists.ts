// Lists over nodes that follow each other below one node: which filters compare a column in the same manner, ascending
// by their constants. Of several terms of a filter (emit/terms.ts) the one stands in a table that fewest values meet.
import { isWhole, termsOf } from './condition';
import {
  ABOVE,
  BELOW,
  COUNTED,
  EQUAL,
  INTERVAL,
  ORDERS,
  PREFIX,
  SORTED,
  boundOf,
  constantOf,
  constantsOf,
  termAt,
  termCount,
} from './terms';
import {
  CHOICE_EDGE_SIZE_OF,
  CHOICE_ENTRY_SIZE_OF,
  CHOICE_PART_SIZE_OF,
  CHOICE_TABLE_SIZE_OF,
  ChoiceEntry,
  ChoicePart,
  ChoiceTable,
  Term,
} from '../gen/emit-layouts';
import { Node, NodeFlag } from '../gen/node-layouts';
import { WORKSPACE, alloc, free } from '../mem/alloc';
import { clearBit, setBit } from '../mem/bits';
import { lenOf, offOf, span } from '../mem/layout';
import { bytesCompare, bytesEqual } from '../value/bytes';

/** A table with fewer constants takes longer to look into than its filters to ask. */
const MIN_CONSTANTS: u32 = 8;
/** More ways of comparing are not told apart; their filters are called for each batch. */
const MAX_TABLES: u32 = 64;
const NO_TABLE: u32 = u32.MAX_VALUE;
/** Entries that there is room for beyond one for each node. */
const SPARE_ENTRIES: u32 = 64;
/** Readable bytes behind texts. */
const PADDING: u32 = 16;

/** Tables while lists are made, and the one found last. */
const FOUND: usize = memory.data(40 * 64, 8);
let found: u32 = 0;
let lastFound: u32 = 0;

/** Constants while lists are made: a block, its entries and how many there may be. */
let entries: usize = 0;
let entryCount: u32 = 0;
let entryRoom: u32 = 0;
/** A block of the same size for sorting. */
let spare: usize = 0;
/** For each node which of its terms stands in a table, and how many values are thought to meet it: u32. */
let best: usize = 0;
/** Some node has several terms. */
let hasRivals: bool = false;

// @ts-ignore: decorator
@inline function entryOf(block: usize, i: u32): ChoiceEntry {
  return changetype<ChoiceEntry>(block + <usize>i * CHOICE_ENTRY_SIZE_OF);
}

// @ts-ignore: decorator
@inline function foundAt(i: u32): ChoiceTable {
  return changetype<ChoiceTable>(FOUND + i * CHOICE_TABLE_SIZE_OF);
}

/** Makes the lists of `children` nodes from `first` on; 0 without memory. `acct` counts their bytes. */
export function makePart(first: Node, children: u32, acct: usize): ChoicePart {
  found = 0;
  entryCount = 0;
  hasRivals = false;
  entryRoom = children + SPARE_ENTRIES;
  entries = alloc(entryRoom * CHOICE_ENTRY_SIZE_OF, WORKSPACE);
  best = alloc(children << 2, WORKSPACE);
  spare = 0;
  let part = changetype<ChoicePart>(0);
  if (entries && best && gather(first, children)) {
    spare = alloc(entryRoom * CHOICE_ENTRY_SIZE_OF, WORKSPACE);
    if (spare) {
      sortEntries();
      if (hasRivals) keepBest(children);
      part = writePart(first, children, acct);
    }
  }
  free(entries, entries ? entryRoom * CHOICE_ENTRY_SIZE_OF : 0, WORKSPACE);
  free(spare, spare ? entryRoom * CHOICE_ENTRY_SIZE_OF : 0, WORKSPACE);
  free(best, best ? children << 2 : 0, WORKSPACE);
  return part;
}

// ---- constants of the filters -----------------------------------------------------------------------------------

/** Gathers the constants of all terms; false without memory. */
function gather(first: Node, children: u32): bool {
  let node = first;
  for (let position: u32 = 0; position < children; position++, node = node.sibling) {
    if (!node.condition) continue;
    termsOf(node);
    if (termCount > 1) hasRivals = true;
    for (let t: u32 = 0; t < termCount; t++) {
      const term = termAt(t);
      if (boundOf(term) && node.flags & NodeFlag.TALLIES && isWhole(node)) term.manner |= <u16>COUNTED;
      const table = tableOf(term);
      if (table == NO_TABLE) continue;
      const count = constantsOf(term);
      for (let i: u32 = 0; i < count; i++) {
        if (entryCount == entryRoom && !grow()) return false;
        const entry = entryOf(entries, entryCount++);
        entry.key = constantOf(node.program, term, i);
        entry.high = term.high;
        entry.position = position;
        entry.table = <u16>table;
        entry.term = <u16>t;
      }
    }
  }
  return true;
}

function grow(): bool {
  const room = entryRoom << 1;
  const more = alloc(room * CHOICE_ENTRY_SIZE_OF, WORKSPACE);
  if (!more) return false;
  memory.copy(more, entries, entryCount * CHOICE_ENTRY_SIZE_OF);
  free(entries, entryRoom * CHOICE_ENTRY_SIZE_OF, WORKSPACE);
  entries = more;
  entryRoom = room;
  return true;
}

/** Number of the table that a term belongs to, a new one among them. */
function tableOf(term: Term): u32 {
  if (lastFound < found && belongs(term, foundAt(lastFound))) return lastFound;
  for (let i: u32 = 0; i < found; i++) {
    if (!belongs(term, foundAt(i))) continue;
    lastFound = i;
    return i;
  }
  if (found == MAX_TABLES) return NO_TABLE;
  const table = foundAt(found);
  table.manner = term.manner;
  table.column = term.column;
  table.guards = term.guards;
  lastFound = found;
  return found++;
}

// @ts-ignore: decorator
@inline function belongs(term: Term, table: ChoiceTable): bool {
  return table.manner == term.manner && table.column == term.column && table.guards == term.guards;
}

// ---- order ------------------------------------------------------------------------------------------------------

/** Sorts the entries by table and constant: merges runs of twice the length each time. */
function sortEntries(): void {
  const count = entryCount;
  for (let run: u32 = 1; run < count; run <<= 1) {
    for (let at: u32 = 0; at < count; at += run << 1) mergeRuns(at, min(at + run, count), min(at + (run << 1), count));
    const other = entries;
    entries = spare;
    spare = other;
  }
}

function mergeRuns(begin: u32, middle: u32, end: u32): void {
  let left = begin;
  let right = middle;
  for (let i = begin; i < end; i++) {
    const takesLeft = right == end || (left < middle && !isLess(entryOf(entries, right), entryOf(entries, left)));
    copyEntry(entryOf(spare, i), entryOf(entries, takesLeft ? left++ : right++));
  }
}

// @ts-ignore: decorator
@inline function copyEntry(to: ChoiceEntry, from: ChoiceEntry): void {
  v128.store(changetype<usize>(to), v128.load(changetype<usize>(from)));
  store<u64>(changetype<usize>(to), load<u64>(changetype<usize>(from), 16), 16);
}

// @ts-ignore: decorator
@inline function isLess(a: ChoiceEntry, b: ChoiceEntry): bool {
  if (a.table != b.table) return a.table < b.table;
  return isBelow(<u32>foundAt(a.table).manner, a.key, b.key);
}

/** Keys of the table are texts, and no numbers. */
// @ts-ignore: decorator
@inline function hasTexts(manner: u32): bool {
  return (manner & (PREFIX | SORTED)) != 0;
}

/** The order of keys of a table. */
// @ts-ignore: decorator
@inline export function isBelow(manner: u32, a: u64, b: u64): bool {
  return hasTexts(manner) ? textOrder(a, b) < 0 : a < b;
}

// @ts-ignore: decorator
@inline export function textOrder(a: u64, b: u64): i32 {
  return bytesCompare(offOf(a), lenOf(a), offOf(b), lenOf(b));
}

/** True when a text begins with another. */
// @ts-ignore: decorator
@inline export function beginsWith(text: u64, start: u64): bool {
  return lenOf(text) >= lenOf(start) && bytesEqual(offOf(text), offOf(start), lenOf(start));
}

/** Keeps of each node the constants of the term that fewest values meet. */
function keepBest(children: u32): void {
  memory.fill(best, 0xff, children << 2);
  for (let begin: u32 = 0, end: u32 = 0; begin < entryCount; begin = end) {
    const table = entryOf(entries, begin).table;
    while (end < entryCount && entryOf(entries, end).table == table) end++;
    rate(begin, end, foundAt(table).manner);
  }
  let kept: u32 = 0;
  for (let i: u32 = 0; i < entryCount; i++) {
    const entry = entryOf(entries, i);
    const chosen = load<u32>(best + ((<usize>entry.position) << 2)) & (MOST_TERMS - 1);
    if (entry.term == chosen) copyEntry(entryOf(entries, kept++), entry);
  }
  entryCount = kept;
}

const MOST_TERMS: u32 = 8;
const MOST_MET: u32 = (1 << 28) - 1;

/** Notes how many filters of a table a value meets that meets each of them. */
function rate(begin: u32, end: u32, manner: u32): void {
  const isPoint = (manner & PREFIX) != 0 || (manner & ORDERS) == EQUAL;
  const all = end - begin;
  const share = manner & INTERVAL ? all >> 2 : (manner & (BELOW | ABOVE)) == (BELOW | ABOVE) ? all : all >> 1;
  for (let i = begin, until = begin; i < end; i = until) {
    const entry = entryOf(entries, i);
    do until++;
    while (isPoint && until < end && isSame(entry, entryOf(entries, until), manner));
    const met = min(isPoint ? until - i : share, MOST_MET);
    for (let k = i; k < until; k++) {
      const one = entryOf(entries, k);
      const at = best + ((<usize>one.position) << 2);
      const rated = (met << 3) | one.term;
      if (rated < load<u32>(at)) store<u32>(at, rated);
    }
  }
}

// @ts-ignore: decorator
@inline function isSame(a: ChoiceEntry, b: ChoiceEntry, manner: u32): bool {
  return manner & PREFIX ? textOrder(a.key, b.key) == 0 : a.key == b.key;
}

// ---- the part ---------------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function words(count: u32): u32 {
  return (count + 63) >> 6;
}

/** Room that constants of tables need beside the others. */
let linkedCount: u32 = 0;
let textBytes: u32 = 0;
let edgeCount: u32 = 0;

/** A spread takes as many steps as there are constants, and comes with as many messages as there is room for. */
const MIN_EDGES: u32 = 8;
const MAX_EDGES: u32 = 512;

/** Room for edges of a table with so many constants. */
// @ts-ignore: decorator
@inline function edgesFor(constants: u32): u32 {
  return max(MIN_EDGES, min(MAX_EDGES, constants >> 3));
}

/** Drops tables with few constants, and counts what the others need. */
function keepTables(): u32 {
  let tables: u32 = 0;
  let kept: u32 = 0;
  linkedCount = 0;
  textBytes = 0;
  edgeCount = 0;
  for (let begin: u32 = 0, end: u32 = 0; begin < entryCount; begin = end) {
    const number = entryOf(entries, begin).table;
    const manner = <u32>foundAt(number).manner;
    while (end < entryCount && entryOf(entries, end).table == number) end++;
    if (end - begin < MIN_CONSTANTS) continue;
    tables++;
    for (let i = begin; i < end; i++) {
      const entry = entryOf(entries, i);
      if (hasTexts(manner)) textBytes += lenOf(entry.key) + (manner & INTERVAL ? lenOf(entry.high) : 0);
      copyEntry(entryOf(entries, kept++), entry);
    }
    if (manner & (PREFIX | INTERVAL)) linkedCount += end - begin;
    if (manner & COUNTED) edgeCount += edgesFor(end - begin);
  }
  entryCount = kept;
  return tables;
}

function writePart(first: Node, children: u32, acct: usize): ChoicePart {
  const tables = keepTables();
  const bits = words(children) << 3;
  const summary = words(words(children)) << 3;
  const size =
    CHOICE_PART_SIZE_OF +
    3 * bits +
    2 * summary +
    tables * CHOICE_TABLE_SIZE_OF +
    (entryCount + linkedCount) * 12 +
    children * 4 +
    edgeCount * CHOICE_EDGE_SIZE_OF +
    textBytes +
    PADDING;
  const block = alloc(size, acct);
  if (!block) return changetype<ChoicePart>(0);
  memory.fill(block, 0, CHOICE_PART_SIZE_OF + 3 * bits + 2 * summary);
  const part = changetype<ChoicePart>(block);
  part.size = size;
  part.children = children;
  part.left = children;
  part.words = words(children);
  part.tables = tables;
  let at = block + CHOICE_PART_SIZE_OF;
  part.always = at;
  part.called = at += bits;
  part.asked = at += bits;
  part.hasAlways = at += bits;
  part.touched = at += summary;
  part.table = at += summary;
  part.keys = at += tables * CHOICE_TABLE_SIZE_OF;
  part.highs = at += entryCount << 3;
  const edges = (at += linkedCount << 3);
  part.positions = at += edgeCount * CHOICE_EDGE_SIZE_OF;
  part.links = at += entryCount << 2;
  part.order = at += linkedCount << 2;
  writeOrder(part, first);
  writeTables(part, edges, at + (children << 2));
  return part;
}

/** Writes the nodes, all of which are called for each batch until `writeTables` knows better. */
function writeOrder(part: ChoicePart, first: Node): void {
  let node = first;
  for (let position: u32 = 0; position < part.children; position++, node = node.sibling) {
    store<u32>(part.order + ((<usize>position) << 2), changetype<u32>(node));
    node.place = position;
    setBit(part.always, position);
  }
}

/** Writes the tables; texts are copied to `texts`, as the filters that they are of may go. */
function writeTables(part: ChoicePart, edges: usize, texts: usize): void {
  let number: u32 = 0;
  let linked: u32 = 0;
  for (let begin: u32 = 0, end: u32 = 0; begin < entryCount; begin = end) {
    const from = foundAt(entryOf(entries, begin).table);
    const manner = <u32>from.manner;
    const index = entryOf(entries, begin).table;
    for (; end < entryCount && entryOf(entries, end).table == index; end++) {
      const entry = entryOf(entries, end);
      let key = entry.key;
      let high = entry.high;
      if (hasTexts(manner)) {
        key = copyText(texts, key);
        texts += lenOf(key);
      }
      if (hasTexts(manner) && manner & INTERVAL) {
        high = copyText(texts, high);
        texts += lenOf(high);
      }
      store<u64>(part.keys + ((<usize>end) << 3), key);
      store<u32>(part.positions + ((<usize>end) << 2), entry.position);
      clearBit(part.always, entry.position);
      if (manner & INTERVAL) store<u64>(part.highs + ((<usize>(linked + end - begin)) << 3), high);
    }
    const table = changetype<ChoiceTable>(part.table + number++ * CHOICE_TABLE_SIZE_OF);
    table.manner = from.manner;
    table.column = from.column;
    table.guards = from.guards;
    table.begin = begin;
    table.end = end;
    table.linked = linked;
    table.edges = 0;
    table.edgeCount = 0;
    if (manner & COUNTED) {
      table.edges = edges;
      table.edgeRoom = edgesFor(end - begin);
      table.isBefore = <u32>((manner & ABOVE) != 0);
      edges += table.edgeRoom * CHOICE_EDGE_SIZE_OF;
      placeFilters(part, table);
    }
    if (manner & INTERVAL) linkHighest(part, table, begin, end);
    if (manner & PREFIX) linkPrefixes(part, table);
    if (manner & (INTERVAL | PREFIX)) linked += end - begin;
  }
  writeAlways(part);
}

/** Filters of a table with edges know the place of their constant. */
function placeFilters(part: ChoicePart, table: ChoiceTable): void {
  for (let place = table.begin; place < table.end; place++) {
    const position = load<u32>(part.positions + ((<usize>place) << 2));
    changetype<Node>(load<u32>(part.order + ((<usize>position) << 2))).place = place;
  }
}

// @ts-ignore: decorator
@inline function copyText(to: usize, text: u64): u64 {
  memory.copy(to, offOf(text), lenOf(text));
  return span(to, lenOf(text));
}

/** The lists of a batch begin as `always`. */
function writeAlways(part: ChoicePart): void {
  const bytes = part.words << 3;
  memory.copy(part.called, part.always, bytes);
  memory.copy(part.asked, part.always, bytes);
  for (let i: u32 = 0; i < part.words; i++) if (load<u64>(part.always + (i << 3))) setBit(part.hasAlways, i);
  memory.copy(part.touched, part.hasAlways, words(part.words) << 3);
}

/**
 * Notes for the middle of [begin, end) which interval in it reaches highest, and so on for both halves; returns it. So
 * intervals that begin early enough are passed over where none of them reaches a value.
 */
function linkHighest(part: ChoicePart, table: ChoiceTable, begin: u32, end: u32): u32 {
  const middle = (begin + end) >> 1;
  let highest = middle;
  if (begin < middle) highest = higher(part, table, highest, linkHighest(part, table, begin, middle));
  if (middle + 1 < end) highest = higher(part, table, highest, linkHighest(part, table, middle + 1, end));
  setLink(part, table, middle, highest);
  return highest;
}

// @ts-ignore: decorator
@inline function higher(part: ChoicePart, table: ChoiceTable, a: u32, b: u32): u32 {
  return isBelow(<u32>table.manner, highOf(part, table, a), highOf(part, table, b)) ? b : a;
}

// @ts-ignore: decorator
@inline export function highOf(part: ChoicePart, table: ChoiceTable, i: u32): u64 {
  return load<u64>(part.highs + ((<usize>(table.linked + i - table.begin)) << 3));
}

// @ts-ignore: decorator
@inline export function linkOf(part: ChoicePart, table: ChoiceTable, i: u32): u32 {
  return load<u32>(part.links + ((<usize>(table.linked + i - table.begin)) << 2));
}

// @ts-ignore: decorator
@inline function setLink(part: ChoicePart, table: ChoiceTable, i: u32, link: u32): void {
  store<u32>(part.links + ((<usize>(table.linked + i - table.begin)) << 2), link);
}

// @ts-ignore: decorator
@inline export function keyAt(part: ChoicePart, i: u32): u64 {
  return load<u64>(part.keys + ((<usize>i) << 3));
}

/** Link of a prefix that begins with no other. */
export const NO_LINK: u32 = u32.MAX_VALUE;

/** Notes for each prefix the longest one before it that it begins with, an equal one among them. */
function linkPrefixes(part: ChoicePart, table: ChoiceTable): void {
  for (let i = table.begin; i < table.end; i++) {
    let link = i == table.begin ? NO_LINK : i - 1;
    while (link != NO_LINK && !beginsWith(keyAt(part, i), keyAt(part, link))) link = linkOf(part, table, link);
    setLink(part, table, i, link);
  }
}
