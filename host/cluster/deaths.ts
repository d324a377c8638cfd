/**
 * Ends the sessions of nodes that are silent, so that others may have their rules. Each node looks at the two before it
 * in the order of names, so the work grows with the number of nodes; what it ends, all see by the entry of the node.
 */
import type { Logger } from '../base/log/log.js';
import { type Beat, readBeat, writeEnd } from './beats.js';
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { clusterErrors } from './errors.js';
import { type LeaseView, nodeKey } from './lease-view.js';

/** Nodes that a node looks at. */
const watchedCount = 2;
/** Part of the time of a lease between two looks. */
const lookPart = 1 / 12;

export interface DeathsOptions {
  readonly beats: readonly Bucket[];
  readonly bucket: Bucket;
  readonly view: LeaseView;
  readonly node: string;
  readonly ttlMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** What was seen of a node, and since when it is the same. */
interface Seen {
  readonly session: string;
  readonly beats: readonly (Beat | undefined)[];
  readonly since: number;
}

export class Deaths {
  readonly #seen = new Map<string, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(private readonly options: DeathsOptions) {}

  start(): void {
    this.#timer = setInterval(() => void this.#look(), lookPart * this.options.ttlMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Ends the session of a former process of this name; throws when one is alive. */
  async free(name: string): Promise<void> {
    const { ttlMs, view } = this.options;
    let first: Seen | undefined;
    for (;;) {
      const beats = await this.#read(name);
      // It may have ended before it wrote its entry.
      const live = beats.find((beat) => beat?.session !== undefined && !beat.isEnd);
      const session = view.node(name).value?.session ?? live?.session;
      if (session === undefined) return;
      const isAlive = beats.some(
        (beat, i) => beat?.isEnd === false && beat.revision > (first?.beats[i]?.revision ?? 1e15),
      );
      if (isAlive) throw clusterErrors.sameName(name);
      await this.#check(name, session);
      first ??= this.#seen.get(name);
      await new Promise((resolve) => setTimeout(resolve, lookPart * ttlMs));
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const watched = this.#watched();
      for (const name of this.#seen.keys()) if (!watched.includes(name)) this.#seen.delete(name);
      await Promise.all(watched.map((name) => this.#check(name, this.options.view.node(name).value?.session)));
    } finally {
      this.#isLooking = false;
    }
  }

  /** The nodes before this one, in a circle. */
  #watched(): string[] {
    const { view, node } = this.options;
    const names = view.nodes().map(([name]) => name);
    const others = [...names.filter((name) => name > node), ...names.filter((name) => name < node)];
    return others.slice(-watchedCount);
  }

  /** A bucket that does not answer has no news. */
  #read(name: string): Promise<(Beat | undefined)[]> {
    const before = this.#seen.get(name)?.beats;
    return Promise.all(this.options.beats.map((bucket, i) => readBeat(bucket, name).catch(() => before?.[i])));
  }

  async #check(name: string, session: string | undefined): Promise<void> {
    if (session === undefined) return void this.#seen.delete(name);
    const { ttlMs, now } = this.options;
    const asked = now();
    const beats = await this.#read(name);
    const before = this.#seen.get(name);
    const isSame =
      before?.session === session && beats.every((beat, i) => beat?.revision === before.beats[i]?.revision);
    // The beat may have come while NATS was asked: its node counts from a time before this one.
    const seen = isSame ? before : { session, beats, since: now() };
    this.#seen.set(name, seen);
    if (asked - seen.since > ttlMs || beats.every((beat) => isEndOf(beat, session))) await this.#end(name, seen);
  }

  async #end(name: string, { session, beats }: Seen): Promise<void> {
    const { beats: buckets, bucket, view, log } = this.options;
    try {
      await Promise.all(
        beats.map(async (beat, i) => {
          if (isEndOf(beat, session)) return;
          // Nobody knows what the bucket has.
          if (beat === undefined) throw new WriteFailure('away', 'no answer');
          await writeEnd(buckets[i] as Bucket, name, session, beat.revision);
        }),
      );
      const { value, revision } = view.node(name);
      if (value?.session !== session) return;
      const gone = await bucket.write({ key: nodeKey(name), text: undefined, after: revision });
      view.noteNode(name, undefined, gone);
      log.warn(`node ${name} is silent: others run its rules`);
    } catch (error) {
      // It is alive, another node was first, or NATS is away: the next look tells.
      if (!(error instanceof WriteFailure)) throw error;
    }
  }
}

function isEndOf(beat: Beat | undefined, session: string): boolean {
  return beat?.isEnd === true && beat.session === session;
}
