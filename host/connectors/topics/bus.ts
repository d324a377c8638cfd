/** Distributes blocks of frames to the subscribers of a topic and tells the publisher when all have taken them. */
import { Recent } from '../../base/structures/recent.js';
import { matches } from './matches.js';

/** Called when nobody needs the frames any more; `lost` says why a subscriber did not get them, if one did not. */
export type Done = (lost?: string) => void;

/** Frames of one publication; `taken` is to be called once by each subscriber. */
export interface Block {
  bytes: Buffer;
  taken: Done;
}

export interface Subscriber {
  deliver(block: Block, topic: string): void;
}

/** Stands in a topic between the rows before a common checkpoint and those after it. */
export interface Marker {
  /** Number of the checkpoint. */
  readonly number: number;
  /** The rules end with it: their readers take nothing that comes after it. */
  readonly isLast: boolean;
}

/** The subscribers of another data plane, as one: each publication goes there once. */
export interface FarSubscribers extends Subscriber {
  /** Number of the data plane. */
  readonly number: number;
  /** Whether one of them reads the topic, or may do so. */
  reads(topic: string): boolean;
  mark(topic: string, marker: Marker): void;
}

/** Who takes topics to other data planes. */
export interface Carrier {
  /** The first subscriber of this data plane has come for a filter, or the last has gone. */
  changed(filter: string, isRead: boolean): void;
  /** Takes what others have told by now: whoever reads a topic already gets what is published next. */
  listen(): void;
}

/** Topics whose subscribers are remembered: rows make topics, too. */
const mostTopics = 10_000;

export class MemoryBus {
  readonly #subscribers = new Map<Subscriber, string[]>();
  /** Subscribers by filter, as often as there are some. */
  readonly #filters = new Map<string, number>();
  readonly #far = new Set<FarSubscribers>();
  /** Subscribers by topic; forgotten with each change of subscriptions. */
  readonly #near = new Recent<string, readonly Subscriber[]>(mostTopics, (topic) => this.#find(topic));
  readonly #all = new Recent<string, readonly Subscriber[]>(mostTopics, (topic) => [
    ...this.#near.get(topic),
    ...[...this.#far].filter((far) => far.reads(topic)),
  ]);
  #carrier: Carrier | undefined;
  /** Who takes the markers of a topic. */
  readonly #takers = new Map<string, (marker: Marker) => void>();
  /** What was published to topics that are held, until they are released. */
  readonly #held = new Map<string, Block[]>();
  readonly #whenFar = new Set<() => void>();

  /** Subscribes to a topic in which `+` stands for one level and `#` for all that follow. */
  subscribe(filter: string, subscriber: Subscriber): void {
    this.unsubscribe(subscriber);
    this.#subscribers.set(subscriber, filter.split('/'));
    this.#count(filter, 1);
    this.#forget();
  }

  unsubscribe(subscriber: Subscriber): void {
    const filter = this.#subscribers.get(subscriber);
    if (filter === undefined) return;
    this.#subscribers.delete(subscriber);
    this.#count(filter.join('/'), -1);
    this.#forget();
  }

  /** Filters of the subscribers, each once. */
  get filters(): Iterable<string> {
    return this.#filters.keys();
  }

  carryBy(carrier: Carrier): void {
    this.#carrier = carrier;
  }

  /** Adds or removes those of another data plane, or tells that they read other topics now. */
  setFar(far: FarSubscribers, isThere: boolean): void {
    if (isThere) this.#far.add(far);
    else this.#far.delete(far);
    this.#all.clear();
    for (const call of this.#whenFar) call();
  }

  /** Calls whenever another data plane comes, goes, or reads other topics; what it returns ends that. */
  onFar(call: () => void): () => void {
    this.#whenFar.add(call);
    return () => this.#whenFar.delete(call);
  }

  /** Whether the bus is joined to that of a data plane. */
  hasFar(plane: number): boolean {
    for (const { number } of this.#far) if (number === plane) return true;
    return false;
  }

  /** Hands out the bytes, which the bus may keep; `done` is called when no subscriber needs them any more. */
  publish(topic: string, bytes: Buffer, done: Done): void {
    const held = this.#held.get(topic);
    if (held === undefined) handOut(this.subscribersOf(topic), topic, bytes, done);
    else held.push({ bytes, taken: done });
  }

  /** As `publish`, for what comes from another data plane. */
  publishHere(topic: string, bytes: Buffer, done: Done): void {
    const held = this.#held.get(topic);
    if (held === undefined) handOut(this.#near.get(topic), topic, bytes, done);
    else held.push({ bytes, taken: done });
  }

  /** Calls with each marker of the topic, behind all that was published before it; what it returns takes that back. */
  takeMarkers(topic: string, take: (marker: Marker) => void): () => void {
    this.#takers.set(topic, take);
    return () => void this.#takers.delete(topic);
  }

  /** Publishes a marker, which follows the rows of the topic wherever they go. */
  mark(topic: string, marker: Marker): void {
    this.#carrier?.listen();
    this.markHere(topic, marker);
    for (const far of this.#far) if (far.reads(topic)) far.mark(topic, marker);
  }

  /** As `mark`, for what comes from another data plane. */
  markHere(topic: string, marker: Marker): void {
    this.#takers.get(topic)?.(marker);
  }

  /** Keeps what comes to the topic from now on, whose readers are all in this data plane. */
  hold(topic: string): void {
    if (!this.#held.has(topic)) this.#held.set(topic, []);
  }

  /** Hands out what was kept; with `isDropped` nobody gets it. */
  release(topic: string, isDropped: boolean): void {
    const held = this.#held.get(topic) ?? [];
    this.#held.delete(topic);
    for (const { bytes, taken } of held) {
      if (isDropped) taken();
      else handOut(this.#near.get(topic), topic, bytes, taken);
    }
  }

  /** Hears what other data planes have told by now; their blocks are delivered in the next turn. */
  listen(): void {
    this.#carrier?.listen();
  }

  subscribersOf(topic: string): readonly Subscriber[] {
    this.listen();
    return this.#all.get(topic);
  }

  #find(topic: string): readonly Subscriber[] {
    const levels = topic.split('/');
    return [...this.#subscribers].filter(([, filter]) => matches(filter, levels)).map(([subscriber]) => subscriber);
  }

  #count(filter: string, change: 1 | -1): void {
    const former = this.#filters.get(filter) ?? 0;
    const count = former + change;
    if (count === 0) this.#filters.delete(filter);
    else this.#filters.set(filter, count);
    if (count === 0 || former === 0) this.#carrier?.changed(filter, count > 0);
  }

  #forget(): void {
    this.#near.clear();
    this.#all.clear();
  }
}

function handOut(subscribers: readonly Subscriber[], topic: string, bytes: Buffer, done: Done): void {
  let left = subscribers.length;
  if (left === 0) {
    done();
    return;
  }
  let reason: string | undefined;
  const taken = (lost?: string) => {
    reason ??= lost;
    if (--left === 0) done(reason);
  };
  for (const subscriber of subscribers) subscriber.deliver({ bytes, taken }, topic);
}
