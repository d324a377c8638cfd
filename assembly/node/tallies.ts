// Rows that many filters pass and only count. Filters that compare a column with a bound stand in a table, ascending by
// their constants (emit/lists.ts). The value of a message parts those that it passes from the others: it is an edge. Of
// filters that do nothing with their rows but count them (NodeFlag.TALLIES) the edge is noted, in place of a count in
// each of thousands of nodes, whose cache lines are cold when a message comes alone. The nodes get their counts when
// there is no room for another edge, and a node that is looked at, or leaves the table, takes its own.
import {
  CHOICE_EDGE_SIZE_OF,
  CHOICE_TABLE_SIZE_OF,
  Choice,
  ChoiceEdge,
  ChoicePart,
  ChoiceTable,
} from '../gen/emit-layouts';
import { Node, NodeFlag } from '../gen/node-layouts';
import { clearBit, hasBit, setBit } from '../mem/bits';

// @ts-ignore: decorator
@inline function edgeAt(table: ChoiceTable, i: u32): ChoiceEdge {
  return changetype<ChoiceEdge>(table.edges + <usize>i * CHOICE_EDGE_SIZE_OF);
}

// @ts-ignore: decorator
@inline function tableAt(part: ChoicePart, i: u32): ChoiceTable {
  return changetype<ChoiceTable>(part.table + i * CHOICE_TABLE_SIZE_OF);
}

// @ts-ignore: decorator
@inline function positionAt(part: ChoicePart, place: u32): u32 {
  return load<u32>(part.positions + ((<usize>place) << 2));
}

// @ts-ignore: decorator
@inline function nodeAt(part: ChoicePart, position: u32): Node {
  return changetype<Node>(load<u32>(part.order + ((<usize>position) << 2)));
}

/** Notes a row with its edge in a table, before the constant at `place`. */
export function noteEdge(part: ChoicePart, table: ChoiceTable, place: u32, now: f64): void {
  let low: u32 = 0;
  let high = table.edgeCount;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edgeAt(table, middle).place < place) low = middle + 1;
    else high = middle;
  }
  const isKnown = low < table.edgeCount && edgeAt(table, low).place == place;
  if (isKnown && edgeAt(table, low).rows != u32.MAX_VALUE) {
    edgeAt(table, low).rows++;
    edgeAt(table, low).last = now;
    return;
  }
  if (isKnown || table.edgeCount == table.edgeRoom) {
    spreadTable(part, table);
    low = 0;
  }
  const at = edgeAt(table, low);
  memory.copy(
    changetype<usize>(at) + CHOICE_EDGE_SIZE_OF,
    changetype<usize>(at),
    <usize>(table.edgeCount - low) * CHOICE_EDGE_SIZE_OF,
  );
  at.place = place;
  at.rows = 1;
  at.last = now;
  table.edgeCount++;
}

/** Gives all nodes of the part what was noted for them. */
export function spread(part: ChoicePart): void {
  for (let i: u32 = 0; i < part.tables; i++) {
    const table = tableAt(part, i);
    if (table.edgeCount) spreadTable(part, table);
  }
}

function spreadTable(part: ChoicePart, table: ChoiceTable): void {
  const edges = table.edgeCount;
  let rows: u64 = 0;
  let last: f64 = 0;
  if (table.isBefore) {
    for (let i = edges; i-- > 0; ) {
      rows += edgeAt(table, i).rows;
      last = max(last, edgeAt(table, i).last);
      const from = i ? edgeAt(table, i - 1).place : table.begin;
      giveRange(part, from, edgeAt(table, i).place, rows, last);
    }
  } else {
    for (let i: u32 = 0; i < edges; i++) {
      rows += edgeAt(table, i).rows;
      last = max(last, edgeAt(table, i).last);
      const to = i + 1 < edges ? edgeAt(table, i + 1).place : table.end;
      giveRange(part, edgeAt(table, i).place, to, rows, last);
    }
  }
  table.edgeCount = 0;
}

function giveRange(part: ChoicePart, from: u32, to: u32, rows: u64, last: f64): void {
  for (let place = from; place < to; place++) {
    const position = positionAt(part, place);
    const node = nodeAt(part, position);
    if (node && !hasBit(part.always, position)) give(node, rows, last);
  }
}

// @ts-ignore: decorator
@inline function give(node: Node, rows: u64, last: f64): void {
  node.out += rows;
  node.stamp = max(node.stamp, last);
}

let notedRows: u64 = 0;
let notedLast: f64 = 0;

/** Sums up what is noted for the filter whose constant is at `place`. */
function readEdges(table: ChoiceTable, place: u32): void {
  notedRows = 0;
  notedLast = 0;
  for (let i: u32 = 0; i < table.edgeCount; i++) {
    const edge = edgeAt(table, i);
    if (place < edge.place != (table.isBefore != 0)) continue;
    notedRows += edge.rows;
    notedLast = max(notedLast, edge.last);
  }
}

/** The part and the table with edges that the filter stands in; 0 none. */
let heldPart: ChoicePart = changetype<ChoicePart>(0);
let heldTable: ChoiceTable = changetype<ChoiceTable>(0);

function isHeld(node: Node): bool {
  if (!(node.flags & NodeFlag.TALLIES) || !node.parent) return false;
  const choice = node.parent.choice;
  if (!choice) return false;
  for (let part = choice.final; part; part = part.before) if (isHeldBy(part, node)) return true;
  return false;
}

function isHeldBy(part: ChoicePart, node: Node): bool {
  const place = node.place;
  for (let i: u32 = 0; i < part.tables; i++) {
    const table = tableAt(part, i);
    if (!table.edges || place < table.begin || place >= table.end) continue;
    const position = positionAt(part, place);
    if (nodeAt(part, position) != node || hasBit(part.always, position)) return false;
    heldPart = part;
    heldTable = table;
    return true;
  }
  return false;
}

/** Rows that the filter passed and that its node has not counted yet. */
export function uncounted(node: Node): u64 {
  if (!isHeld(node)) return 0;
  readEdges(heldTable, node.place);
  return notedRows;
}

/** When the last of these rows came, epoch ms; 0 there are none. */
export function uncountedLast(node: Node): f64 {
  if (!isHeld(node)) return 0;
  readEdges(heldTable, node.place);
  return notedLast;
}

/** The filter counts for itself from now on, and is called for each batch. */
export function leaveEdges(node: Node): void {
  if (!isHeld(node)) return;
  readEdges(heldTable, node.place);
  give(node, notedRows, notedLast);
  const part = heldPart;
  const position = positionAt(part, node.place);
  node.place = position;
  const word = position >> 6;
  setBit(part.always, position);
  setBit(part.hasAlways, word);
  setBit(part.called, position);
  setBit(part.asked, position);
  setBit(part.touched, word);
}

/** Takes a node out of the lists of its parent; its place in them stays. */
export function leaveLists(choice: Choice, node: Node): void {
  leaveEdges(node);
  const position = node.place;
  for (let part = choice.final; part; part = part.before) {
    if (position >= part.children || nodeAt(part, position) != node) continue;
    store<u32>(part.order + ((<usize>position) << 2), 0);
    clearBit(part.always, position);
    clearBit(part.called, position);
    clearBit(part.asked, position);
    part.left--;
    if (part.left * 2 < part.children) choice.isStale = 1;
    return;
  }
  choice.tailCount--;
  if (choice.tail == changetype<usize>(node)) choice.tail = changetype<usize>(node.sibling);
}
