/** A store for messages that wait in memory only. */
import { type Item, messagesOf, split } from './item.js';
import type { Batch, Store } from './store.js';

/** Size of a batch, bytes. */
const batchBytes = 256 * 1024;

export class MemoryStore implements Store {
  readonly cutOff = '';
  readonly cutOffMessages = 0;
  readonly isCutOffWhole = false;
  readonly diskBytes = 0;
  length = 0;
  unread = 0;
  unreadBytes = 0;
  readonly #items: Item[] = [];

  async append(pages: readonly (readonly Item[])[]): Promise<void> {
    for (const items of pages) {
      for (const item of items) {
        this.#items.push(item);
        this.unreadBytes += item.bytes.length;
      }
      const messages = messagesOf(items);
      this.unread += messages;
      this.length += messages;
    }
  }

  async next(): Promise<Batch | undefined> {
    const items: Item[] = [];
    for (let bytes = 0; this.#items.length > 0 && bytes < batchBytes; ) {
      const item = this.#take();
      items.push(item);
      bytes += item.bytes.length;
    }
    return items.length === 0 ? undefined : { items, lost: 0, reason: '' };
  }

  skip(messages: number): void {
    for (let left = messages; left > 0 && this.#items.length > 0; ) {
      const item = this.#take();
      if (item.messages > left) this.#putBack(split(item, left)[1]);
      left -= Math.min(left, item.messages);
    }
  }

  free(messages: number): void {
    this.length -= messages;
  }

  async close(): Promise<void> {}

  async remove(): Promise<void> {}

  #take(): Item {
    const item = this.#items.shift()!;
    this.unread -= item.messages;
    this.unreadBytes -= item.bytes.length;
    return item;
  }

  #putBack(item: Item): void {
    this.#items.unshift(item);
    this.unread += item.messages;
    this.unreadBytes += item.bytes.length;
  }
}
