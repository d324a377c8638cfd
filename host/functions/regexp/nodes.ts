/** Nodes of a parsed pattern, as far as JavaScript's own engine takes it. */

/** ASCII characters, and at 128 all others: whether they are in the set. */
export type CharSet = Uint8Array;

export type Node =
  | { kind: 'one'; set: CharSet }
  | { kind: 'repeat'; set: CharSet; min: number; max: number }
  | { kind: 'assert'; place: 'start' | 'end' | 'other' }
  | { kind: 'group'; branches: Node[][]; isOptional: boolean };
