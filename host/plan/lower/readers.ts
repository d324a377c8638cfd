/** Finds the readers of each operator's output in a plan, and the values that they compute from it. */
import { inputsOf, type Logical, operatorsOf, type Root } from '../logical/logical.js';
import { valuesOf } from '../operators/index.js';
import type { Value } from '../values/value.js';

export class Readers {
  private readonly readers = new Map<Logical, Logical[]>();

  /** @param outputValues what outputs read of the rows of their roots */
  constructor(
    roots: readonly Root[],
    private readonly outputValues: ReadonlyMap<Logical, readonly Value[]>,
  ) {
    for (const node of operatorsOf(roots)) {
      for (const input of inputsOf(node)) {
        const known = this.readers.get(input);
        if (known === undefined) this.readers.set(input, [node]);
        else known.push(node);
      }
    }
  }

  /** Values that are computed above the operator, by all its readers and theirs. */
  valuesAbove(node: Logical): readonly Value[] {
    const found = new Set<Value>();
    const seen = new Set<Logical>();
    const visit = (reader: Logical): void => {
      if (seen.has(reader)) return;
      seen.add(reader);
      for (const value of this.outputValues.get(reader) ?? valuesOf(reader)) found.add(value);
      // Above a derived table nothing is known of what stands below it.
      if (reader.kind === 'derive') return;
      this.readers.get(reader)?.forEach(visit);
    };
    this.readers.get(node)?.forEach(visit);
    return [...found];
  }

  /** True when several operators read the rows. */
  isShared(node: Logical): boolean {
    return (this.readers.get(node)?.length ?? 0) > 1;
  }

  /** True when the rows come to those of others by a merge above. */
  isMerged(node: Logical): boolean {
    return this.isRead(node, 'merge');
  }

  /** True when rows of the operator come to one of the kind. */
  isRead(node: Logical, kind: Logical['kind']): boolean {
    return (this.readers.get(node) ?? []).some((reader) => reader.kind === kind || this.isRead(reader, kind));
  }

  /** True when a join or lookup reads the rows of the window. */
  isJoined(window: Logical): boolean {
    const readers = this.readers.get(window) ?? [];
    return readers.some(
      (reader) =>
        reader.kind === 'join' ||
        reader.kind === 'lookup' ||
        (reader.kind !== 'window' && reader.kind !== 'derive' && this.isJoined(reader)),
    );
  }
}
