/**
 * A step on the way of data: from a connector to the kernel, or from the kernel to a connector. Each stage passes on
 * what it gets, or keeps it while the stage after it takes no more. A chain of stages is a list, made from the options
 * of a source or sink.
 */
export interface Stage<Item> {
  /** Passes the item on, or keeps it. False: it is malformed, and what follows it is of no use. */
  write(item: Item): boolean;
  /** Items wait in the stage. */
  readonly isFull: boolean;
  /** The stage after it takes items again. */
  resume(): void;
  /** Passes on all that waits, as far as the stages after it take it. */
  drain(): void | Promise<void>;
  /** Forgets the items that wait in memory. */
  close(): void | Promise<void>;
}

/**
 * Policy of a full queue: the connector waits, or the oldest items are dropped. A queue with a folder spills to disk
 * before.
 */
export type WhenFull = 'block' | 'drop oldest';

/** A stage that passes items on to another one. */
export abstract class PassingStage<Item> implements Stage<Item> {
  /** Set when the chain is made. */
  next!: Stage<Item>;

  abstract write(item: Item): boolean;

  get isFull(): boolean {
    return false;
  }

  resume(): void {}

  drain(): void {}

  close(): void {}
}

/** Makes a chain of the stages, the last of which is its end; returns the first. */
export function chained<Item>(stages: readonly PassingStage<Item>[], end: Stage<Item>): Stage<Item> {
  return stages.reduceRight<Stage<Item>>((next, stage) => {
    stage.next = next;
    return stage;
  }, end);
}
