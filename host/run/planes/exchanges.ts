/**
 * Joins data planes by rings in shared memory, so that topics in memory go from one to another: all planes with rules
 * that use topics, each with each, since any rule may come to any topic. Loaded where there are several data planes.
 */
import { ringMemory } from '../../base/structures/ring.js';
import { topicUse } from '../../connectors/topic-use.js';
import type { PlacedParts } from '../link/protocol.js';
import type { Supervisor } from './supervisor.js';

const largestRing = 1 << 20;
const smallestRing = 1 << 16;
/** Bytes of all rings together as long as none is the smallest. */
const allRings = 1 << 26;

export class Exchanges {
  readonly #joined = new Set<Supervisor>();
  readonly #ringBytes: number;

  /** @param count number of data planes */
  constructor(count: number) {
    const share = 2 ** Math.floor(Math.log2(allRings / (count * count)));
    this.#ringBytes = Math.min(largestRing, Math.max(smallestRing, share));
  }

  /** Joins a data plane to those that were joined before, if the rule or table uses topics; it has not started yet. */
  joinFor(parts: PlacedParts, plane: Supervisor): void {
    if (this.#joined.has(plane)) return;
    const { reads, writes } = topicUse(parts);
    if (reads.length + writes.length > 0) this.join(plane);
  }

  /** Joins a data plane to those that were joined before. */
  join(plane: Supervisor): void {
    if (this.#joined.has(plane)) return;
    for (const other of this.#joined) {
      const [out, back] = [ringMemory(this.#ringBytes), ringMemory(this.#ringBytes)];
      other.command({ kind: 'link', plane: plane.number, out, back });
      plane.command({ kind: 'link', plane: other.number, out: back, back: out });
    }
    this.#joined.add(plane);
  }

  /** The thread of a data plane has ended: the others go on without it, until its next thread joins them. */
  lost(plane: Supervisor): void {
    if (!this.#joined.delete(plane)) return;
    for (const other of this.#joined) other.command({ kind: 'unlink', plane: plane.number });
  }
}
