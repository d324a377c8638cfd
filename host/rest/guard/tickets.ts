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
  /** In the order of their making; `end` in epoch ms. */
  readonly #known = new Map<string, { readonly end: number; readonly mayChange: boolean }>();

  constructor(private readonly clock: Clock = systemClock) {}

  /** @param mayChange whether the token that it stands for may */
  issue(mayChange = true): Ticket {
    for (const [old, { end }] of this.#known) {
      if (end > this.clock.now() && this.#known.size < maxTickets) break;
      this.#known.delete(old);
    }
    const ticket = randomBytes(32).toString('base64url');
    this.#known.set(ticket, { end: this.clock.now() + lifetimeSeconds * 1000, mayChange });
    return { ticket, expiresIn: lifetimeSeconds };
  }

  /** Says what a ticket allows, and uses it up; undefined for one that is not valid. */
  redeem(ticket: string): { readonly mayChange: boolean } | undefined {
    const known = this.#known.get(ticket);
    this.#known.delete(ticket);
    return known !== undefined && this.clock.now() < known.end ? known : undefined;
  }
}
