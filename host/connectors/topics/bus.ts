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

/** The subscribers of another data plane, as one: each publication goes there once. */
export interface FarSubscribers extends Subscriber {
  /** Whether one of them reads the topic, or may do so. */
  reads(topic: string): boolean;
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
  }

  /** Hands out the bytes, which the bus may keep; `done` is called when no subscriber needs them any more. */
  publish(topic: string, bytes: Buffer, done: Done): void {
    handOut(this.subscribersOf(topic), topic, bytes, done);
  }

  /** As `publish`, for what comes from another data plane. */
  publishHere(topic: string, bytes: Buffer, done: Done): void {
    handOut(this.#near.get(topic), topic, bytes, done);
  }

  subscribersOf(topic: string): readonly Subscriber[] {
    this.#carrier?.listen();
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
