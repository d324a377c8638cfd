/**
 * Streams that rules in several data planes read: a run of its own keeps each at work in one of them, which hands it to
 * the others. It begins with the first rule elsewhere and ends with the last.
 */
import type { Logger } from '../../../base/log/log.js';
import { systemClock, type Timer } from '../../../base/time/clock.js';
import { connectorOf } from '../../../connectors/index.js';
import type { RuleStart, RunNotice, SourceSpec } from '../../link/protocol.js';
import { isSameOtherwise } from '../../link/same-spec.js';
import type { Supervisor } from '../supervisor.js';
import { streamTie } from './ties.js';

/** What hand-overs need of the engine. */
export interface HandOverHost {
  planeAt(number: number): Supervisor;
  /** A number that no run has had. */
  nextRun(): number;
  /** Place of the keeper of a tie; undefined while all that has it is in one. */
  keeperPlace(tie: string): number | undefined;
  /** Joins a data plane to the others by rings. */
  join(plane: Supervisor): void;
  readonly log: Logger;
}

/** A stream that is handed over. */
interface HandedOver {
  /** Number of the hand-over. */
  readonly key: number;
  /** As it is read: a password may change meanwhile. */
  spec: SourceSpec;
  readonly plane: Supervisor;
  run: number;
  /** Runs that read it elsewhere, with their data planes. */
  readonly users: Map<number, number>;
  /** Specs for other data planes: rules of one form have one. */
  readonly specs: Map<number, SourceSpec>;
  /** Moves under way that hold it. */
  holds: number;
  timer: Timer | undefined;
  whenStarted: Promise<void>;
  started: () => void;
}

/** Streams that are held while rules move. */
export interface HeldStreams {
  /** The rules are where they belong. */
  release(): void;
}

/** Time that a stream stays at work after its readers' thread has died: they come back, ms. */
const lingerMs = 5000;
/** Pause before a hand-over that failed begins again, ms. */
const pauseMs = 1000;
/** Nobody waits longer for a hand-over to begin, ms. */
const startMs = 3000;

export class HandOvers {
  readonly #bySpec = new Map<string, HandedOver>();
  readonly #byRun = new Map<number, HandedOver>();
  /** Specs of shared streams as they were used last. */
  readonly #last = new Map<string, SourceSpec>();
  #lastKey = 0;
  #host!: HandOverHost;

  open(host: HandOverHost): void {
    this.#host = host;
  }

  /** The data planes end, and what is handed over with them. */
  close(): void {
    for (const { timer } of this.#bySpec.values()) timer?.close();
    this.#bySpec.clear();
    this.#byRun.clear();
  }

  /** Sources of a run in a data plane: those that another one reads are handed over from there. */
  sourcesFor({ run, sources }: RuleStart, plane: Supervisor): SourceSpec[] {
    const given = sources.map((spec) => this.#sourceFor(run, spec, plane));
    return given.every((spec, i) => spec === sources[i]) ? sources : given;
  }

  #sourceFor(run: number, spec: SourceSpec, plane: Supervisor): SourceSpec {
    if (!spec.isShared) return spec;
    this.#last.set(spec.name, spec);
    const place = this.#host.keeperPlace(streamTie(spec.name));
    if (place === undefined || place === plane.number) return spec;
    const one = this.#handedOver(spec, place);
    one.users.set(run, plane.number);
    this.#host.join(plane);
    let handed = one.specs.get(plane.number);
    if (handed === undefined) {
      handed = { ...spec, handed: { key: one.key, from: place, to: plane.number } };
      one.specs.set(plane.number, handed);
    }
    return handed;
  }

  #handedOver(spec: SourceSpec, place: number): HandedOver {
    const plane = this.#host.planeAt(place);
    const key = keyOf(place, spec);
    const known = this.#bySpec.get(key);
    if (known !== undefined) return known;
    const one: HandedOver = {
      key: ++this.#lastKey,
      spec,
      plane,
      run: 0,
      users: new Map(),
      specs: new Map(),
      holds: 0,
      timer: undefined,
      whenStarted: Promise.resolve(),
      started: () => {},
    };
    this.#bySpec.set(key, one);
    this.#start(one);
    return one;
  }

  #start(one: HandedOver): void {
    one.timer?.close();
    one.timer = undefined;
    this.#byRun.delete(one.run);
    one.run = this.#host.nextRun();
    one.whenStarted = new Promise((resolve) => {
      one.started = resolve;
    });
    this.#byRun.set(one.run, one);
    this.#host.join(one.plane);
    const { spec, run, key, plane } = one;
    const sources = [spec];
    const plan = {
      sources: [{ stream: spec.name, columns: [] }],
      nodes: [],
      topology: { sources: [], edges: {} },
      operators: [],
      outputFields: [],
    };
    const rule = { id: streamTie(spec.name), run, plan, sources, sinks: [], sendError: false, sinkLimitBytes: 0 };
    plane.command({ kind: 'start', rule: { ...rule, zone: 'UTC', isTable: true, hands: key } });
  }

  /** Takes news of a run that hands a stream over, or reads it. */
  noticed(notice: RunNotice): void {
    if (notice.kind !== 'started' && notice.kind !== 'opened') this.#left(notice.run);
    const one = this.#byRun.get(notice.run);
    if (one === undefined) return;
    if (notice.kind === 'started') one.started();
    if (notice.kind === 'failed') {
      this.#host.log.warn(`${streamTie(one.spec.name)}: ${notice.reason}; it is tried again in ${pauseMs / 1000} s`);
      one.timer = systemClock.after(pauseMs, () => this.#start(one));
    }
  }

  /** A run has ended. */
  #left(run: number): void {
    for (const one of this.#bySpec.values()) if (one.users.delete(run)) this.#endUnused(one);
  }

  #endUnused(one: HandedOver): void {
    if (one.users.size > 0 || one.holds > 0) return;
    this.#forget(one);
    one.plane.command({ kind: 'stop', run: one.run });
  }

  #forget(one: HandedOver): void {
    one.timer?.close();
    this.#byRun.delete(one.run);
    for (const [key, other] of this.#bySpec) if (other === one) this.#bySpec.delete(key);
  }

  /** The thread of a data plane has ended: streams that it has read are read there again. */
  lost(plane: Supervisor): void {
    for (const one of [...this.#bySpec.values()]) {
      for (const [run, place] of one.users) if (place === plane.number) one.users.delete(run);
      if (one.plane === plane && one.users.size + one.holds === 0) this.#forget(one);
      else if (one.plane === plane) this.#start(one);
      // Rules come back at once, or their series of deaths has ended them.
      if (one.users.size > 0 || one.timer !== undefined || one.plane === plane) continue;
      one.timer = systemClock.after(lingerMs, () => {
        one.timer = undefined;
        this.#endUnused(one);
      });
    }
  }

  /**
   * Shared streams have other properties: what is handed over takes them where it may, and begins with them when it
   * begins again. A part of a divided rule has a stream of that name which is no shared one.
   */
  renew(specs: readonly SourceSpec[]): void {
    for (const spec of specs) {
      const last = this.#last.get(spec.name);
      if (last !== undefined && mayBecome(last, spec)) this.#last.set(spec.name, spec);
      for (const [key, one] of [...this.#bySpec]) {
        const next = keyOf(one.plane.number, spec);
        // Each rule that reads the stream is renewed: the first of them has told.
        if (keyOf(one.plane.number, one.spec) === next || !mayBecome(one.spec, spec)) continue;
        one.spec = spec;
        one.plane.command({ kind: 'renew', run: one.run, sources: [spec], lookups: [], sinks: [] });
        if (this.#bySpec.has(next)) continue;
        this.#bySpec.delete(key);
        this.#bySpec.set(next, one);
      }
    }
  }

  /**
   * Holds streams while rules go to other data planes; resolves when all that was read is worked on. Undefined when one
   * can't be held.
   * @param runs of the rules that are to move
   */
  async hold(streams: readonly string[], runs: readonly number[]): Promise<HeldStreams | undefined> {
    const all = streams.flatMap((name) => {
      const spec = this.#last.get(name);
      const place = this.#host.keeperPlace(streamTie(name));
      return spec === undefined || place === undefined ? [] : this.#handedOver(spec, place);
    });
    for (const one of all) one.holds++;
    const held = await Promise.all(all.map((one) => this.#holdOne(one, runs)));
    const release = () => {
      for (const one of all) {
        // Another move may have begun before this one is over.
        if (--one.holds > 0) continue;
        one.plane.command({ kind: 'release', run: one.run, planes: [...new Set(one.users.values())] });
        this.#endUnused(one);
      }
    };
    if (all.length === streams.length && held.every((isHeld) => isHeld)) return { release };
    release();
    this.#host.log.warn(`rules on ${streams.join(', ')} don't move: what was read could not be worked on in time`);
    return undefined;
  }

  async #holdOne(one: HandedOver, runs: readonly number[]): Promise<boolean> {
    const patience = new Promise<void>((resolve) => void setTimeout(resolve, startMs).unref());
    await Promise.race([one.whenStarted, patience]);
    return one.plane.ask('hold', one.run, runs);
  }

  /** Runs that read a stream which is handed over. */
  readersOf(stream: string): number[] {
    return [...this.#bySpec.values()].flatMap(({ spec, users }) => (spec.name === stream ? [...users.keys()] : []));
  }
}

function keyOf(place: number, spec: SourceSpec): string {
  return `${place} ${JSON.stringify(spec)}`;
}

/** Whether a source that is at work takes the new properties, as its data plane sees it. */
function mayBecome(former: SourceSpec, spec: SourceSpec): boolean {
  if (!isSameOtherwise(former, spec)) return false;
  return connectorOf(spec.type)?.source?.renewed(former.props, spec.props) !== undefined;
}
