/** What a source writes while it is held: it had read it before, or was about to. It goes on when the hold is over. */
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

export class HeldStage extends PassingStage<Input> {
  #isHeld = false;
  #parts: Input[] = [];
  #askers: (() => void)[] = [];

  override get isFull(): boolean {
    return this.#parts.length > 0;
  }

  write(input: Input): boolean {
    if (!this.#isHeld) return this.next.write(input);
    // The source may use its bytes again.
    this.#parts.push({ ...input, bytes: Uint8Array.from(input.bytes) });
    return true;
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.drain();
  }

  override drain(): void {
    for (const part of this.#parts.splice(0)) this.next.write(part);
    this.#tell();
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  override close(): void {
    this.#parts = [];
    this.#tell();
  }

  #tell(): void {
    for (const call of this.#askers.splice(0)) call();
  }
}
