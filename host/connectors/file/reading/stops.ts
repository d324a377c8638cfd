/** Positions in files at which a source pauses for a moment: rules that have had everything before go on there. */
import type { Stats } from 'node:fs';
import { type FilePosition, isEarlier, readPosition, staleReason } from './position.js';

interface Stop {
  readonly index: number;
  /** Position of the stop; undefined for the begin of all files. */
  readonly position: FilePosition | undefined;
}

export class Stops {
  #left: Stop[];

  /** @param isBefore the order in which the source comes to them */
  constructor(
    positions: readonly unknown[],
    private readonly reached: (index: number) => void,
    private readonly isBefore: (one: FilePosition, other: FilePosition) => boolean,
    /** How files are told apart. */
    private readonly nameOf: (position: FilePosition) => unknown = ({ path }) => path,
  ) {
    this.#left = positions.map((given, index) => ({
      index,
      position: given === undefined ? undefined : readPosition(given),
    }));
  }

  /** Where the source is to begin; undefined: at its begin. */
  get first(): FilePosition | undefined {
    if (this.#left.some(({ position }) => position === undefined)) return undefined;
    return this.#left
      .flatMap(({ position }) => position ?? [])
      .reduce((first, one) => (this.isBefore(one, first) ? one : first));
  }

  /** The source begins a file, from the position in it: places in another one that had its name count as its begin. */
  begin(at: FilePosition, file: Stats, isPacked: boolean): void {
    this.#meet((position) => {
      if (!this.#isSameFile(position, at)) return isEarlier(position, at) || position.path === '';
      return staleReason(position, file, isPacked) !== undefined || isIn(position, at);
    });
  }

  /** The source has written all up to the position. */
  passed(at: FilePosition): void {
    if (this.#left.length > 0) this.#meet((position) => this.#isSameFile(position, at) && isIn(position, at));
  }

  /** No more comes, or the source goes on elsewhere. */
  end(): void {
    this.#meet(() => true);
  }

  /** Number of bytes from the position to the next stop in its file; Infinity without one. */
  bytesFrom(at: FilePosition): number {
    return this.#next(at, ({ bytes }) => bytes - at.bytes);
  }

  /** Number of messages from the position to the next stop in its file; Infinity without one. */
  messagesFrom(at: FilePosition): number {
    return this.#next(at, ({ messages }) => messages - at.messages);
  }

  #next(at: FilePosition, distance: (position: FilePosition) => number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { position } of this.#left) {
      if (position === undefined || !this.#isSameFile(position, at)) continue;
      const left = distance(position);
      if (left > 0) next = Math.min(next, left);
    }
    return next;
  }

  #isSameFile(position: FilePosition, at: FilePosition): boolean {
    return this.nameOf(position) === this.nameOf(at);
  }

  #meet(isMet: (position: FilePosition) => boolean): void {
    const met = this.#left.filter(({ position }) => position === undefined || isMet(position));
    if (met.length === 0) return;
    this.#left = this.#left.filter((stop) => !met.includes(stop));
    for (const { index } of met) this.reached(index);
  }
}

function isIn(position: FilePosition, at: FilePosition): boolean {
  return position.bytes <= at.bytes && position.messages <= at.messages;
}
