/** Store of spilled messages: first in, first out. */
import type { Item } from './item.js';

/** Messages read at once. */
export interface Batch {
  readonly items: readonly Item[];
  /** Number of messages before these that can't be read any more. */
  readonly lost: number;
  /** Place of the lost messages, and the reason. */
  readonly reason: string;
}

export interface Store {
  /** Messages that are not sent. */
  readonly length: number;
  /** Messages that were not read, and their bytes where a bound is set for them. */
  readonly unread: number;
  readonly unreadBytes: number;
  /** Size on disk, bytes. */
  readonly diskBytes: number;
  /** Sentence about a damaged end that was cut off; empty without one. */
  readonly cutOff: string;
  /** Messages in the part cut off, as far as they can be counted. */
  readonly cutOffMessages: number;
  /** The part cut off was written completely and damaged later. */
  readonly isCutOffWhole: boolean;
  /** Takes pages, all of them or none; rejects with the reason. One call at a time. */
  append(pages: readonly (readonly Item[])[]): Promise<void>;
  /** Takes the next messages as read; undefined when there are none. One call at a time. */
  next(): Promise<Batch | undefined>;
  /** Skips the next messages. */
  skip(messages: number): void;
  /** Marks the oldest `messages` as sent. */
  free(messages: number): void;
  /** Resolves when the files of sent messages are removed. */
  removed?(): Promise<unknown>;
  close(): Promise<void>;
  /** Removes all there is. */
  remove(): Promise<void>;
}
