/** Distributes blocks of frames to the subscribers of a topic and tells the publisher when all have taken them. */
import { Recent } from '../../base/structures/recent.js';
import { matches } from './topics.js';

/** Frames of one publication; `taken` is to be called once by each subscriber. */
export interface Block {
  bytes: Buffer;
  taken(): void;
}

export interface Subscriber {
  deliver(block: Block): void;
}

/** Topics whose subscribers are remembered: rows make topics, too. */
const mostTopics = 10_000;

export class MemoryBus {
  readonly #subscribers = new Map<Subscriber, string[]>();
  /** Subscribers by topic; forgotten with each change of subscriptions. */
  readonly #matches = new Recent<string, readonly Subscriber[]>(mostTopics, (topic) => this.#find(topic));

  /** Subscribes to a topic in which `+` stands for one level and `#` for all that follow. */
  subscribe(filter: string, subscriber: Subscriber): void {
    this.#subscribers.set(subscriber, filter.split('/'));
    this.#matches.clear();
  }

  unsubscribe(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    this.#matches.clear();
  }

  /** Hands out the bytes, which the bus may keep; `done` is called when no subscriber needs them any more. */
  publish(topic: string, bytes: Buffer, done: () => void): void {
    const subscribers = this.subscribersOf(topic);
    let left = subscribers.length;
    if (left === 0) {
      done();
      return;
    }
    const taken = () => {
      if (--left === 0) done();
    };
    for (const subscriber of subscribers) subscriber.deliver({ bytes, taken });
  }

  subscribersOf(topic: string): readonly Subscriber[] {
    return this.#matches.get(topic);
  }

  #find(topic: string): readonly Subscriber[] {
    const levels = topic.split('/');
    return [...this.#subscribers].filter(([, filter]) => matches(filter, levels)).map(([subscriber]) => subscriber);
  }
}
