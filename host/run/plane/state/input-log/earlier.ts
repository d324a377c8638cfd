/**
 * Missing input from the log for a rule that comes to a running source: from its place to the position of the source.
 * It stays in the log until the rule has had it.
 */

import type { Barrier } from '../../acknowledge/barrier.js';
import type { BranchHold } from '../../acknowledge/branch-hold.js';
import { type Item, split } from '../../queue/item.js';
import type { Cursor, PageStore } from '../../queue/page-store.js';
import type { Earlier } from '../places/catch-up.js';
import { numberIn } from '../places/log-places.js';
import { packetsIn } from './known-messages.js';

/** Input that is in the log, or on its way there. */
export interface HeldInput {
  readonly barrier: Barrier;
  /** Number behind the last message of the input. */
  readonly end: number;
  /** The messages, until they are stored. */
  readonly item: Item | undefined;
}

export class EarlierInLog implements Earlier {
  readonly messages: number;
  #number: number;
  readonly #cursor: Cursor;
  /** Number behind the last message that was on disk when the rule came. */
  readonly #diskEnd: number;
  readonly #items: Item[] = [];
  /** Messages that were not on disk when the rule came. */
  readonly #unstored: Item[];
  readonly #held: HeldInput[];

  constructor(
    private readonly store: PageStore,
    from: number,
    held: readonly HeldInput[],
    private readonly lost: (messages: number, reason: string) => void,
  ) {
    this.#number = from;
    this.#cursor = { read: from, at: undefined };
    this.#held = held.filter(({ end }) => end > from);
    for (const { barrier } of this.#held) barrier.keep();
    this.#unstored = this.#held.flatMap(({ item }) => item ?? []);
    const end = this.#held.at(-1)?.end ?? from;
    this.#diskEnd = end - this.#unstored.reduce((sum, { messages }) => sum + messages, 0);
    this.messages = end - from;
    // The place may lie within an item.
    const before = from - this.#diskEnd;
    const [first] = this.#unstored;
    if (before > 0 && first !== undefined) this.#unstored[0] = split(first, before)[1];
  }

  get position(): unknown {
    return { log: this.#number };
  }

  async next(): Promise<{ bytes: Uint8Array; messages: number } | undefined> {
    while (this.#items.length === 0 && this.#cursor.read < this.#diskEnd) {
      const batch = await this.store.nextFor(this.#cursor, this.#diskEnd);
      if (batch === undefined) break;
      if (batch.lost > 0) {
        this.lost(batch.lost, batch.reason);
        this.#number += batch.lost;
      }
      this.#items.push(...batch.items);
    }
    const whole = this.#items.shift() ?? this.#unstored.shift();
    if (whole === undefined) return undefined;
    const room = this.#diskEnd - this.#number;
    const item = room > 0 && whole.messages > room ? split(whole, room)[0] : whole;
    this.#number += item.messages;
    return { bytes: packetsIn(item), messages: item.messages };
  }

  taken(hold: BranchHold | undefined): void {
    for (let first = this.#held[0]; first !== undefined && first.end <= this.#number; first = this.#held[0]) {
      this.#held.shift();
      hold?.hold(first.barrier);
      first.barrier.kept(false);
    }
  }

  close(): void {
    for (const { barrier } of this.#held.splice(0)) barrier.kept(true);
  }

  rest(): Uint8Array[] {
    return [];
  }
}

/** Barriers of the input behind the position. */
export function heldFrom(held: readonly HeldInput[], position: unknown): Barrier[] {
  const number = numberIn(position) ?? Number.POSITIVE_INFINITY;
  return held.flatMap(({ barrier, end }) => (end > number ? [barrier] : []));
}

export function messagesOf(held: readonly { readonly messages: number }[]): number {
  return held.reduce((sum, { messages }) => sum + messages, 0);
}
