/** Processor time that rules take, as parts of one processor: by it rules are divided among the data planes. */
import { type Clock, systemClock, type Timer } from '../../base/time/clock.js';
import type { Move } from './placement/placement.js';
import type { Planes } from './planes.js';

/** A data plane with less load than this part of a processor has room enough. */
const muchLoad = 0.6;
/** Shortest time that is measured, ms: a batch of rows would look like a full processor. */
const leastMs = 1000;
/** Looks at which nothing moves after a move that came to nothing. */
const restingLooks = 30;

export interface LoadsOptions {
  readonly planes: Planes;
  /** Name of what runs, as it is placed; undefined for a run that has ended. */
  readonly unitOf: (run: number) => string | undefined;
  /** Nothing is lost when the unit goes to another data plane. */
  readonly mayMove: (unit: string) => boolean;
  /** Runs of units that can leave. */
  readonly runsOf: (units: readonly string[]) => number[];
  /** Lets a data plane read what units bring along that will move there. */
  readonly ready: (units: readonly string[], to: number) => Promise<void>;
  /** Moves units; calls when they are where they belong. `isReady`: what they bring along is read. */
  readonly move: (units: readonly string[], over: () => void, isReady: boolean) => void;
}

export class Loads {
  /** Time that each run had taken at the last look, µs. */
  #taken = new Map<number, number>();
  /** The first look tells the mean since the start of the process. */
  #at = 0;
  /** What the last look has found. */
  #loads: Promise<readonly number[]> | undefined;
  #isLooking = false;
  #isClosed = false;
  /** Looks after which rules may move again. */
  #restsFor = 0;
  #timer: Timer | undefined;
  readonly #clock: Clock = systemClock;

  constructor(private readonly options: LoadsOptions) {
    this.#arm();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.close();
  }

  /** Load of each data plane since the last look, or the start; a time too short to tell is not measured. */
  look(): Promise<readonly number[]> {
    const least = Math.min(leastMs, (this.options.planes.division?.lookMs ?? leastMs) / 2);
    const isFresh = this.#isLooking || performance.now() - this.#at < least;
    if (this.#loads === undefined || !isFresh) this.#loads = this.#look();
    return this.#loads;
  }

  async #look(): Promise<readonly number[]> {
    this.#isLooking = true;
    try {
      return await this.#measure();
    } finally {
      this.#isLooking = false;
    }
  }

  async #measure(): Promise<readonly number[]> {
    const { planes, unitOf } = this.options;
    const answers = await planes.ask('cpuTimes');
    const now = performance.now();
    const us = Math.max(1, now - this.#at) * 1000;
    const taken = new Map<number, number>();
    const loads = new Array<number>(planes.count).fill(0);
    for (const [{ number }, times] of answers) {
      for (const [run, cpuUs] of times) {
        taken.set(run, cpuUs);
        const unit = unitOf(run);
        if (unit === undefined) continue;
        const before = this.#taken.get(run);
        const load = Math.max(0, cpuUs - (before ?? 0)) / us;
        loads[number]! += load;
        // A run that has begun meanwhile was not at work for all of the time.
        if (before !== undefined) planes.division?.setLoad(unit, load);
      }
    }
    this.#taken = taken;
    this.#at = now;
    return loads;
  }

  #arm(): void {
    const { division } = this.options.planes;
    if (division !== undefined && !this.#isClosed)
      this.#timer = this.#clock.after(division.lookMs, () => void this.#even());
  }

  /** Moves rules when one data plane has much to do and another has room. */
  async #even(): Promise<void> {
    try {
      await this.look();
      if (this.#restsFor-- > 0) return;
      // Loads are of long ago then.
      if (await this.#ready()) await this.look();
      const better = this.options.planes.division?.betterMove(muchLoad, this.options.mayMove);
      // Whatever was in the way would be the next time, too.
      if (better !== undefined && !this.#isClosed && !(await this.#move(better))) this.#restsFor = restingLooks;
    } finally {
      this.#arm();
    }
  }

  /** Lets data planes read what the next move brings, before streams are held for it; false where none are. */
  async #ready(): Promise<boolean> {
    const { planes, mayMove, ready } = this.options;
    const move = planes.division?.betterMove(muchLoad, mayMove);
    if (move === undefined) return false;
    // Until then new rules are placed by where these are.
    planes.division!.putBack(move);
    if (this.#streamsOf(move).length === 0) return false;
    await ready(move.units, move.to);
    return true;
  }

  /** Shared streams that are handed to units of a move. */
  #streamsOf({ units }: Move): string[] {
    return [...new Set(units.flatMap((unit) => this.options.planes.division!.handedOf(unit)))];
  }

  /** Moves rules; shared streams that stay are held meanwhile. False: that could not be. */
  async #move(move: Move): Promise<boolean> {
    const { planes, runsOf, move: begin } = this.options;
    const division = planes.division!;
    const streams = this.#streamsOf(move);
    const held = await division.handOvers.hold(streams, runsOf(move.units));
    if (held === undefined) division.putBack(move);
    else begin(move.units, () => held.release(), streams.length > 0);
    return held !== undefined;
  }
}
