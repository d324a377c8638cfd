/** Input that a rule has had from branches, held until a checkpoint from behind it counts. */
import type { Barrier } from './barrier.js';
import type { Claim, RuleHold } from './retention.js';

export class BranchHold implements RuleHold {
  #held: Barrier[] = [];
  #isClosed = false;

  /** Holds input that the rule has had. */
  hold(barrier: Barrier): void {
    if (this.#isClosed || this.#held.at(-1) === barrier) return;
    barrier.keep();
    this.#held.push(barrier);
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  claim(): Claim {
    const taken = this.#held;
    this.#held = [];
    return {
      pass: () => {
        for (const barrier of taken) barrier.kept(false);
      },
      giveBack: () => {
        this.#held = [...taken, ...this.#held];
      },
    };
  }

  close(): void {
    this.#isClosed = true;
  }

  drop(isLost: boolean): void {
    this.close();
    for (const barrier of this.#held.splice(0)) barrier.kept(isLost);
  }
}
