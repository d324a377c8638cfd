/** Where messages wait that were spilled: first in, first out. */
import type { Item } from './item.js';

/** What is read next. */
export interface Batch {
  readonly items: readonly Item[];
  /** Messages before them that can't be read any more. */
  readonly lost: number;
  /** Where they were, and why. */
  readonly reason: string;
}

export interface Store {
  /** Messages that are not out. */
  readonly length: number;
  /** Messages that were not read, and their bytes where a bound is set for them. */
  readonly unread: number;
  readonly unreadBytes: number;
  /** What it takes of the disk, bytes. */
  readonly diskBytes: number;
  /** What was cut off at the end, a sentence; empty when nothing was. */
  readonly cutOff: string;
  /** Messages in it, as far as it shows. */
  readonly cutOffMessages: number;
  /** It looks like something that was written as a whole and damaged since. */
  readonly isCutOffWhole: boolean;
  /** Takes pages, all of them or none; rejects with the reason. One call at a time. */
  append(pages: readonly (readonly Item[])[]): Promise<void>;
  /** Takes the next messages as read; undefined when there are none. One call at a time. */
  next(): Promise<Batch | undefined>;
  /** The next so many messages need not be read. */
  skip(messages: number): void;
  /** So many messages more are out, the oldest ones. */
  free(messages: number): void;
  /** Resolves when the disk has back what is out. */
  removed?(): Promise<unknown>;
  close(): Promise<void>;
  /** Removes all there is. */
  remove(): Promise<void>;
}
