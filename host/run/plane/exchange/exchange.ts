/**
 * Exchange of a data plane with the others: rows of topics in memory go through rings in shared memory, two for each
 * pair. The rows have the form in which they pass within a data plane. The publisher gets its credit back when the
 * readers there have taken them, so a slow reader holds up the rules that write to it, and nobody else.
 */
import type { Logger } from '../../../base/log/log.js';
import { type Carrier, MemoryBus } from '../../../connectors/topics/bus.js';
import type { ExchangeFigures } from '../../../model/figures.js';
import type { PlaneHost } from '../running/running.js';
import { Peer } from './peer.js';

export class Exchange implements Carrier {
  readonly #peers = new Map<number, Peer>();

  constructor(
    private readonly bus: MemoryBus,
    private readonly log: Logger,
  ) {
    bus.carryBy(this);
  }

  /** Joins another data plane by rings; one with that number that was there before is gone. */
  link(number: number, out: SharedArrayBuffer, back: SharedArrayBuffer): void {
    this.unlink(number);
    const gone = (peer: Peer, blocks: number) => {
      if (this.#peers.get(number) === peer) this.#peers.delete(number);
      if (blocks > 0) this.log.warn(`data plane ${number} ended with ${blocks} blocks of rows on their way to it`);
    };
    this.#peers.set(number, new Peer({ number, out, back, bus: this.bus, gone }));
  }

  /** The other data plane has died. */
  unlink(number: number): void {
    this.#peers.get(number)?.died();
  }

  changed(filter: string, isRead: boolean): void {
    for (const peer of this.#peers.values()) peer.tell(filter, isRead);
  }

  listen(): void {
    for (const peer of this.#peers.values()) peer.listen();
  }

  get figures(): ExchangeFigures[] {
    return [...this.#peers.values()].map(({ figures }) => figures);
  }

  /** All rules of this data plane have ended. */
  close(): void {
    for (const peer of this.#peers.values()) peer.end();
  }
}

/** The exchange of a data plane that is one of several. */
export function openExchange({ shared, log }: Pick<PlaneHost, 'shared' | 'log'>): Exchange {
  return new Exchange(
    shared('memory.bus', () => new MemoryBus()),
    log,
  );
}
