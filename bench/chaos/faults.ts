/** Plays faults and measures the time until all is as before. */
import { statSync } from 'node:fs';
import { pause } from '../process.js';
import type { Broker } from './broker.js';
import type { ChaosEngine } from './engine.js';
import type { Output } from './outputs.js';
import { hasProgram, type Victim } from './processes.js';
import type { RunClock } from './run-clock.js';
import type { Fault } from './schedule.js';

/** Effects of all faults of a kind; times in ms, half of them are at most `p50`. */
export interface FaultFigures {
  readonly count: number;
  /** Time from the end of the fault, or the kill of the engine, until all rules run and are connected. */
  readonly connectedMs: Spread;
  /** Time from then until rows come out again, without faults after which no rows were to come. */
  readonly rowsMs: Spread;
  /** Most memory of the engine from the begin of the fault until rows came out again, bytes. */
  readonly peakBytes: number;
}

export interface Spread {
  readonly p50: number;
  readonly max: number;
}

interface Played {
  readonly name: string;
  connectedMs?: number;
  rowsMs?: number;
  peakBytes: number;
}

/** Longest watch over a fault that is over, ms. */
const watchMs = 60_000;
const pollMs = 20;
/** Bytes by which the file may still grow under the fault `full`. */
const lastBytes = 100;

/** Processes that faults can happen to, and means to watch them. */
export interface Cast {
  readonly engine: ChaosEngine;
  readonly inner: Broker | undefined;
  readonly outer: Broker | undefined;
  /** Process that takes the results; undefined for files. */
  readonly sink: Victim | undefined;
  readonly output: Output;
  /** The file with the results. */
  readonly outFile: string;
  readonly whenRunning: () => Promise<void>;
  readonly clock: RunClock;
}

export class Faults {
  /** Faults under way by process: those of one process are played one after the other. */
  readonly #busy = new Map<Victim, Promise<void>>();
  readonly #played: Played[] = [];
  readonly #watches: Promise<void>[] = [];
  #isOver = false;
  kills = 0;

  constructor(private readonly cast: Cast) {}

  /** Plays the faults at their times; resolves when the last one is over. */
  async play(schedule: readonly Fault[]): Promise<void> {
    for (const fault of schedule) {
      await this.cast.clock.until(fault.atMs);
      this.#begin(fault);
    }
    await Promise.all(this.#busy.values());
  }

  /** No more rows are to come: nobody waits for them any more. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#watches);
  }

  #begin(fault: Fault): void {
    const whose = this.#victim(fault);
    if (whose === undefined) return;
    const before = this.#busy.get(whose) ?? Promise.resolve();
    this.#busy.set(
      whose,
      before.then(() => this.#play(fault, whose)),
    );
  }

  /** Process that a fault happens to; undefined when this run has no such process. */
  #victim({ kind, how, isOuter }: Fault): Victim | undefined {
    const { engine, inner, outer, sink } = this.cast;
    if (kind === 'engine') return engine.process;
    if (kind === 'broker') return inner?.process;
    if (kind === 'crash') return (isOuter === true ? (outer ?? inner) : (inner ?? outer))?.process;
    if (how === 'full') {
      if (!hasProgram('prlimit')) return undefined;
      return outer === undefined && sink?.limitFiles !== undefined ? sink : engine.process;
    }
    if (sink !== undefined) return sink;
    return kind === 'sink' ? undefined : engine.process;
  }

  async #play(fault: Fault, whose: Victim): Promise<void> {
    const { engine } = this.cast;
    const { kind, how } = fault;
    const isKill = kind === 'engine' && how === 'kill';
    if (isKill) this.kills++;
    const played: Played = { name: kind === how || kind === 'crash' ? kind : `${kind} ${how}`, peakBytes: Number.NaN };
    this.#played.push(played);
    const watched = engine.watchMemory();
    const began = performance.now();
    await this.#do(fault, whose);
    const from = isKill ? began + fault.holdMs : performance.now();
    this.#watches.push(
      this.#watch(played, from).finally(() => {
        played.peakBytes = watched();
      }),
    );
  }

  async #do({ kind, how, holdMs }: Fault, whose: Victim): Promise<void> {
    const { engine, outFile, whenRunning, inner, outer, clock } = this.cast;
    switch (how) {
      case 'kill':
        await whose.end('SIGKILL');
        await pause(holdMs);
        if (kind === 'engine') {
          return clock.during(async () => {
            await engine.start();
            await whenRunning();
          });
        }
        return [inner, outer].find((broker) => broker?.process === whose)!.start();
      case 'end':
        await whose.end(whose.name === 'ledger' ? 'SIGKILL' : 'SIGTERM');
        await pause(holdMs);
        return whose.start();
      case 'stop':
        return whose.hold(holdMs);
      case 'slow':
        return whose.slow(holdMs);
      case 'full':
        whose.limitFiles?.(sizeOf(outFile) + lastBytes);
        await pause(holdMs);
        return whose.limitFiles?.(undefined);
      default:
        return how satisfies never;
    }
  }

  async #watch(played: Played, from: number): Promise<void> {
    const { output, whenRunning } = this.cast;
    const before = await output.size();
    const isNews = async () => {
      while ((await output.size()) === before) {
        if (this.#isOver || performance.now() - from > watchMs) return;
        await pause(pollMs);
      }
      played.rowsMs = performance.now() - from;
    };
    const isConnected = async () => {
      await whenRunning();
      played.connectedMs = performance.now() - from;
    };
    await Promise.all([isNews(), isConnected()]);
  }

  /** Figures of the faults that were played, by kind. */
  figures(): Record<string, FaultFigures> {
    const names = [...new Set(this.#played.map(({ name }) => name))];
    const of = (name: string): FaultFigures => {
      const all = this.#played.filter((played) => played.name === name);
      return {
        count: all.length,
        connectedMs: spreadOf(all.map(({ connectedMs }) => connectedMs)),
        rowsMs: spreadOf(all.map(({ rowsMs }) => rowsMs)),
        peakBytes: all.reduce((peak, { peakBytes }) => (peakBytes > (peak || 0) ? peakBytes : peak), Number.NaN),
      };
    };
    return Object.fromEntries(names.map((name) => [name, of(name)]));
  }
}

function spreadOf(values: readonly (number | undefined)[]): Spread {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  const rounded = (value: number | undefined) => Math.round(value ?? Number.NaN);
  return { p50: rounded(sorted[sorted.length >> 1]), max: rounded(sorted.at(-1)) };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
