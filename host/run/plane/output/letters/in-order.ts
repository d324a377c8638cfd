/**
 * Counts what leaves a sink, in order: behind a message that is refused, and whose dead letter is not safe yet, all
 * that left later waits, since what is counted always stands for the oldest messages.
 */
interface Part {
  amount: number;
  isHeld: boolean;
}

export class InOrder {
  readonly #waiting: Part[] = [];
  /** Sum of what waits. */
  held = 0;

  /** @param leave takes what has left */
  constructor(private readonly leave: (amount: number) => void) {}

  out(amount: number): void {
    const last = this.#waiting.at(-1);
    if (last === undefined) {
      this.leave(amount);
      return;
    }
    this.held += amount;
    if (last.isHeld) this.#waiting.push({ amount, isHeld: false });
    else last.amount += amount;
  }

  /** Holds back an amount; it leaves with the call of what is returned. */
  hold(amount: number): () => void {
    const part = { amount, isHeld: true };
    this.#waiting.push(part);
    this.held += amount;
    return () => {
      if (!part.isHeld) return;
      part.isHeld = false;
      this.#leaveFirst();
    };
  }

  #leaveFirst(): void {
    let amount = 0;
    for (let first = this.#waiting[0]; first?.isHeld === false; first = this.#waiting[0]) {
      this.#waiting.shift();
      amount += first.amount;
    }
    this.held -= amount;
    this.leave(amount);
  }
}
