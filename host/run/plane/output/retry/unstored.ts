/**
 * Messages of a spill queue that are in memory alone, in order; the sink may have the first of them, and the first may
 * be on their way to disk.
 */

import { type Item, split } from '../../queue/item.js';
import type { Flight } from './flight.js';

export class Unstored {
  readonly flights: Flight[] = [];
  messages = 0;
  bytes = 0;
  /** Number of flights that the sink has. */
  inFlight = 0;
  /** Messages and bytes of the flights that the sink does not have. */
  waitingMessages = 0;
  waitingBytes = 0;
  /** Number of flights being written now; they are not handed over meanwhile. */
  frozen = 0;
  /** Messages of flights being written that were sent meanwhile. */
  outWhileFrozen = 0;

  get first(): Item | undefined {
    return this.flights[0]?.item;
  }

  /** Next item for the sink; undefined without one, or while flights are being written. */
  get next(): Item | undefined {
    return this.frozen > 0 ? undefined : this.flights[this.inFlight]?.item;
  }

  add(item: Item): void {
    this.flights.push({ left: item.messages, item, isStored: false, isDropped: false });
    this.messages += item.messages;
    this.bytes += item.bytes.length;
    this.waitingMessages += item.messages;
    this.waitingBytes += item.bytes.length;
  }

  /** Moves the next message to those in flight. */
  hand(): Flight {
    const flight = this.flights[this.inFlight++]!;
    this.#leaveWaiting(flight.item!);
    return flight;
  }

  /** Splits a flight in two; returns the item with its first messages. */
  part(place: number, item: Item, messages: number): Item {
    const parts = split(item, messages);
    if (item.ticket !== undefined) item.ticket.parts++;
    const flights = parts.map((part) => ({ left: part.messages, item: part, isStored: false, isDropped: false }));
    this.flights.splice(place, 1, ...flights);
    return parts[0];
  }

  /** Counts messages of a flight that were sent. */
  leave(messages: number): void {
    this.messages -= messages;
    if (this.frozen > 0) this.outWhileFrozen += messages;
  }

  /** Removes the first flight, which was sent. */
  shift(item: Item): void {
    this.flights.shift();
    this.bytes -= item.bytes.length;
    this.inFlight--;
    if (this.frozen > 0) this.frozen--;
  }

  /** First flights that fit into the given messages and bytes; an item is split where needed. */
  fitting(mostMessages: number, mostBytes: number): Flight[] {
    let [room, bytes, count] = [mostMessages, mostBytes, 0];
    for (; count < this.flights.length && bytes > 0; count++) {
      let item = this.flights[count]!.item!;
      // Messages in flight make room soon.
      const isInFlight = count < this.inFlight;
      if (!isInFlight && item.messages > room) {
        if (room <= 0) break;
        item = this.part(count, item, room);
      }
      if (!isInFlight && item.bytes.length > bytes && item.messages > 1) {
        const part = Math.floor((item.messages * bytes) / item.bytes.length);
        item = this.part(count, item, Math.max(1, part));
      }
      room -= item.messages;
      bytes -= item.bytes.length;
    }
    return this.flights.slice(0, count);
  }

  /** Removes the flights that were written; `stored` gets each of their items. */
  stored(stored: (item: Item) => void): void {
    const done = this.flights.splice(0, this.frozen);
    for (const { item } of done.slice(this.inFlight)) this.#leaveWaiting(item!);
    this.inFlight -= Math.min(this.inFlight, done.length);
    this.frozen = 0;
    for (const flight of done) {
      const item = flight.item!;
      flight.isStored = true;
      flight.item = undefined;
      this.messages -= flight.left;
      this.bytes -= item.bytes.length;
      stored(item);
    }
  }

  /** Counts all flights as safe in memory; `safe` gets each item that somebody waits for. */
  release(safe: (item: Item) => void): void {
    // Flights before one without a ticket have been released already.
    for (let i = this.flights.length - 1; i >= 0; i--) {
      const flight = this.flights[i]!;
      const item = flight.item!;
      if (item.ticket === undefined) return;
      flight.item = { ...item, ticket: undefined };
      safe(item);
    }
  }

  /**
   * Drops the oldest flights that are neither in flight nor being written, down to `mostBytes`; returns the number of
   * messages.
   */
  drop(mostBytes: number): number {
    const from = Math.max(this.inFlight, this.frozen);
    let bytes = this.waitingBytes;
    for (const { item } of this.flights.slice(this.inFlight, from)) bytes -= item!.bytes.length;
    let to = from;
    for (; bytes > mostBytes && to < this.flights.length; to++) {
      let item = this.flights[to]!.item!;
      const part = Math.ceil((item.messages * (bytes - mostBytes)) / item.bytes.length);
      if (part < item.messages) item = this.part(to, item, part);
      bytes -= item.bytes.length;
    }
    let dropped = 0;
    for (const { item, left } of this.flights.splice(from, to - from)) {
      dropped += left;
      this.messages -= left;
      this.bytes -= item!.bytes.length;
      this.#leaveWaiting(item!);
    }
    return dropped;
  }

  #leaveWaiting({ messages, bytes }: Item): void {
    this.waitingMessages -= messages;
    this.waitingBytes -= bytes.length;
  }
}
