/** Checkpoints of rules, taken at one instant, on their way to disk: they count together or not at all. Mostly it is one rule's. */
import { reasonOf } from '../../../base/errors.js';
import type { MarkedName, Marks } from './marks.js';

/** What one rule has in it. */
export interface Part {
  /** Where it counts or fails now. */
  joint?: Joint<Part>;
  readonly name: MarkedName;
  /** It was taken at the end of its rule, and can't be taken again. */
  readonly isLast: boolean;
  /** Brings it to disk, with all output from before; false when that can't be. Its work is done once. */
  prepare(signal: AbortSignal): Promise<boolean>;
  /** Gives it the name under which it is found; rejects when that can't be done. */
  publish(): Promise<void>;
  /** It counts; with a reason why it has not got its name, which it gets at the next start. */
  count(unnamed: string | undefined): void;
  /** It comes to nothing; without a reason since it was given up. */
  fail(reason: string | undefined): Promise<void>;
}

export class Joint<P extends Part> {
  /** Whether it counts. */
  readonly outcome: Promise<boolean>;
  readonly #abort = new AbortController();
  #isCounting = false;

  /** @param after what has to be over before */
  constructor(
    readonly parts: readonly P[],
    private readonly marks: Marks,
    after: readonly Promise<unknown>[],
  ) {
    for (const part of parts) part.joint = this as unknown as Joint<Part>;
    this.outcome = this.#run(after);
  }

  get isGivenUp(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Returns the parts that can't be taken again: they may go into another one. None when it is too late. */
  giveUp(): readonly P[] {
    if (this.#isCounting) return [];
    this.#abort.abort();
    return this.parts.filter((part) => part.isLast && part.joint === (this as unknown));
  }

  async #run(after: readonly Promise<unknown>[]): Promise<boolean> {
    await Promise.allSettled(after);
    const reason = await this.#prepare();
    if (reason === null) {
      this.#isCounting = true;
      try {
        return await this.#count();
      } catch (error) {
        await this.#fail(reasonOf(error));
        return false;
      }
    }
    await this.#fail(reason);
    return false;
  }

  /** Returns why it can't count, undefined when it was given up, null when it can. */
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

  async #count(): Promise<boolean> {
    const { parts, marks } = this;
    const [first] = parts;
    if (parts.length === 1) {
      await first!.publish();
      first!.count(undefined);
      return true;
    }
    const mark = first!.name.id;
    await marks.set(
      mark,
      parts.map(({ name }) => name),
    );
    // The mark decides: what can't get its name now stays where it is, or its rule would go back alone.
    const left: P[] = [];
    for (const part of parts) {
      const reason = await part.publish().then(() => undefined, reasonOf);
      if (reason !== undefined) left.push(part);
      part.count(reason);
    }
    await marks.leave(
      mark,
      left.map(({ name }) => name),
    );
    return true;
  }

  /** Those that went into another one have their fate there. */
  async #fail(reason: string | undefined): Promise<void> {
    for (const part of this.parts) if (part.joint === (this as unknown)) await part.fail(reason);
  }
}
