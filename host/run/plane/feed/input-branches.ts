/**
 * Branches of a source: rules that are throttled or catch up have its input wait for them, and get all that
 * it reads.
 */
import type { Barrier } from '../acknowledge/barrier.js';
import type { RunningRule } from '../running/running.js';

/** A branch of a source. */
export interface InputBranch {
  readonly rules: ReadonlySet<RunningRule>;
  /** Copies what it is given, which others change after the call. */
  readonly copies?: true;
  /**
   * The source has given the bytes to the kernel; they stay as they are, unless the branch copies them. Whoever takes
   * them holds the barrier.
   */
  add(bytes: Uint8Array, barrier: Barrier | undefined): void;
  /** The position of the source is behind all that it has given so far, and before all that comes. */
  numbered(): void;
  /** The connection was lost, with half a message maybe. */
  reset(): void;
  /** No more input comes. */
  end(): void;
}

export class InputBranches {
  readonly all = new Set<InputBranch>();

  /** Users without a branch. */
  readersOf(users: ReadonlySet<RunningRule>): ReadonlySet<RunningRule> {
    if (this.all.size === 0) return users;
    const readers = new Set(users);
    for (const { rules } of this.all) for (const rule of rules) readers.delete(rule);
    return readers;
  }

  /**
   * Copies the bytes, once for all that keep them. With `isReplay` they are from the log of the source, which keeps
   * them as long as the barrier is held.
   */
  add(bytes: Uint8Array, barrier: Barrier | undefined, isReplay: boolean): void {
    if (this.all.size === 0 || bytes.length === 0) return;
    let copy: Uint8Array | undefined;
    // Another barrier without messages is nobody's.
    const isHeld = isReplay || (barrier !== undefined && barrier.receipts.length > 0);
    const held = isHeld ? barrier : undefined;
    for (const branch of this.all) {
      if (branch.copies !== true) copy ??= Uint8Array.from(bytes);
      branch.add(branch.copies === true ? bytes : copy!, held);
    }
  }

  numbered(): void {
    for (const branch of this.all) branch.numbered();
  }

  reset(): void {
    for (const branch of this.all) branch.reset();
  }

  end(): void {
    for (const branch of this.all) branch.end();
  }
}
