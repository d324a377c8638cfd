/**
 * Checkpoints of rules, taken at one instant, on their way to disk: they count together or not at all. Mostly there is
 * one rule.
 */
import { reasonOf } from '../../../../base/errors.js';
import type { KeptState } from '../../../link/shared-states.js';
import type { MarkedName, Marks } from './marks.js';

/** One rule's part of a joint checkpoint. */
export interface Part {
  /** Joint checkpoint with which the part counts or fails. */
  joint?: Joint<Part>;
  readonly name: MarkedName;
  /** The part was taken at the end of its rule and can't be taken again. */
  readonly isLast: boolean;
  /** The files that make it up, where all nodes of a cluster are to find them. */
  readonly kept?: KeptState | undefined;
  /** Brings the part and all earlier output to disk; false when that can't be. The work is done once. */
  prepare(signal: AbortSignal): Promise<boolean>;
  /** Gives the part the name under which it is found; rejects when that fails. */
  publish(): Promise<void>;
  /** To be called when the part counts; `unnamed` is the reason why it gets its name only at the next start. */
  count(unnamed: string | undefined): void;
  /** To be called when the part counts, but not all who wait for that could be told. */
  untold(reason: string): void;
  /** To be called when the part comes to nothing; without a reason when it was given up. */
  fail(reason: string | undefined): Promise<void>;
}

export class Joint<P extends Part> {
  /** Resolves with whether the checkpoint counts. */
  readonly outcome: Promise<boolean>;
  readonly #abort = new AbortController();
  #isCounting = false;

  /**
   * @param after what has to be over before
   * @param share makes the parts count where all nodes of a cluster find them; without it they count on this machine
   */
  constructor(
    readonly parts: readonly P[],
    private readonly marks: Marks,
    after: readonly Promise<unknown>[],
    private readonly share?: ((parts: readonly Part[]) => Promise<void>) | undefined,
  ) {
    for (const part of parts) part.joint = this as unknown as Joint<Part>;
    this.outcome = this.#run(after);
  }

  get isGivenUp(): boolean {
    return this.#abort.signal.aborted;
  }

  /**
   * Gives the checkpoint up; returns the parts that can't be taken again, and may go into another one. None when it is
   * too late.
   */
  giveUp(): readonly P[] {
    if (this.#isCounting) return [];
    this.#abort.abort();
    return this.parts.filter((part) => part.isLast && part.joint === (this as unknown));
  }

  async #run(after: readonly Promise<unknown>[]): Promise<boolean> {
    await Promise.allSettled(after);
    let reason = await this.#prepare();
    if (reason === null) {
      this.#isCounting = true;
      reason = await this.#decide().then(() => null, reasonOf);
    }
    if (reason !== null) {
      await this.#fail(reason);
      return false;
    }
    await this.#carryOut();
    return true;
  }

  /** Returns the reason why the checkpoint can't count, undefined when it was given up, null when it can. */
  async #prepare(): Promise<string | undefined | null> {
    const { signal } = this.#abort;
    const givenUp = new Promise<false>((resolve) => {
      if (signal.aborted) resolve(false);
      else signal.addEventListener('abort', () => resolve(false), { once: true });
    });
    const results = await Promise.allSettled(
      this.parts.map((part) => (part.isLast ? Promise.race([part.prepare(signal), givenUp]) : part.prepare(signal))),
    );
    if (signal.aborted) return undefined;
    for (const result of results) if (result.status === 'rejected') return reasonOf(result.reason);
    return results.every((result) => result.status === 'fulfilled' && result.value) ? null : undefined;
  }

  /** Makes the checkpoint count, for all members or for none; rejects when it does not count. */
  async #decide(): Promise<void> {
    const { parts, marks, share } = this;
    if (share !== undefined) return share(parts);
    const [first] = parts;
    const names = parts.map(({ name }) => name);
    await (parts.length === 1 ? first!.publish() : marks.set(first!.name.id, names));
  }

  /**
   * Publishes the parts. The checkpoint counts whatever fails now: a part without its name stays where it is, or its
   * rule would go back alone.
   */
  async #carryOut(): Promise<void> {
    const { parts, marks } = this;
    const unnamed = new Map<P, string>();
    if (parts.length > 1 || this.share !== undefined) {
      for (const part of parts) await part.publish().catch((error) => unnamed.set(part, reasonOf(error)));
      const left = [...unnamed.keys()].map(({ name }) => name);
      // What nodes share is fetched again at the next start.
      if (this.share === undefined) await marks.leave(parts[0]!.name.id, left);
    }
    for (const part of parts) {
      try {
        part.count(unnamed.get(part));
      } catch (error) {
        part.untold(reasonOf(error));
      }
    }
  }

  /** Fails the parts, except those that went into another checkpoint. */
  async #fail(reason: string | undefined): Promise<void> {
    for (const part of this.parts) if (part.joint === (this as unknown)) await part.fail(reason);
  }
}
