/**
 * The partitions of some topics that one reader has, where no group gives them: those whose number leaves its own when
 * it is divided by the number of readers. So each partition has one reader, also those that a topic gets later.
 */
import { reasonOf } from '../../base/errors.js';
import type { KafkaClient } from './client.js';
import type { Assignment } from './subscription.js';

/** Interval in which topics are looked at for new partitions, ms. */
const lookMs = 10_000;

export interface ShareOwner {
  /** Partitions of the share that were not there before. */
  grown(assignment: Assignment): Promise<void>;
  /** Looking for new partitions has failed, and is tried again. */
  failed(reason: string): void;
}

export class ShareReader {
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(
    private readonly client: KafkaClient,
    private readonly topics: readonly string[],
    private readonly share: { readonly part: number; readonly of: number },
    private readonly owner: ShareOwner,
  ) {}

  /** Partitions of the share that are there now; from then on the owner hears of those that come. */
  async open(): Promise<Assignment> {
    const assignment = await this.#added();
    this.#timer = setInterval(() => void this.#look(), lookMs).unref();
    return assignment;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Partitions of the share that were not there at the last look. */
  async #added(): Promise<Assignment> {
    const added = new Map<string, number[]>();
    for (const topic of this.topics) {
      this.client.forget(topic);
      const { leaders } = await this.client.topic(topic, true);
      const known = this.#counts.get(topic) ?? 0;
      this.#counts.set(topic, Math.max(known, leaders.length));
      const { part, of } = this.share;
      const own = Array.from(leaders.keys()).filter((partition) => partition >= known && partition % of === part);
      if (own.length > 0) added.set(topic, own);
    }
    return added;
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const added = await this.#added();
      if (added.size > 0 && this.#timer !== undefined) await this.owner.grown(added);
    } catch (error) {
      if (this.#timer !== undefined) this.owner.failed(reasonOf(error));
    } finally {
      this.#isLooking = false;
    }
  }
}
