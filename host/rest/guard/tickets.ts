/**
 * Tickets: what a browser's EventSource, which can't send headers, shows in the place of a token when it opens an event
 * stream. An address may be written to logs and histories, so a ticket is good once and for a short time.
 */
import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../base/time/clock.js';

const lifetimeSeconds = 30;
/** Most tickets at once; one more ends the oldest. */
const maxTickets = 1000;

export interface Ticket {
  readonly ticket: string;
  /** Seconds. */
  readonly expiresIn: number;
}

export class TicketService {
  /** Epoch ms of their end, in the order of their making. */
  readonly #ends = new Map<string, number>();

  constructor(private readonly clock: Clock = systemClock) {}

  issue(): Ticket {
    for (const [old, end] of this.#ends) {
      if (end > this.clock.now() && this.#ends.size < maxTickets) break;
      this.#ends.delete(old);
    }
    const ticket = randomBytes(32).toString('base64url');
    this.#ends.set(ticket, this.clock.now() + lifetimeSeconds * 1000);
    return { ticket, expiresIn: lifetimeSeconds };
  }

  /** Tells whether a ticket is valid, and uses it up. */
  redeem(ticket: string): boolean {
    const end = this.#ends.get(ticket);
    this.#ends.delete(ticket);
    return end !== undefined && this.clock.now() < end;
  }
}
