/** What a source was given within the engine and has not written yet: checkpoints have it, since nobody brings it again. */
import type { Source } from '../../connectors/running.js';

export class HandedInput {
  #isRefilled = false;

  constructor(private readonly source: Source) {}

  /** A copy; undefined when there is none. */
  pending(): Uint8Array | undefined {
    const pending = this.source.pending?.() ?? [];
    return pending.length === 0 ? undefined : Buffer.concat(pending);
  }

  /** Takes what was pending in an earlier run; rules that share the source have the same. */
  refill(bytes: Uint8Array): void {
    if (!this.#isRefilled) this.source.refill?.(bytes);
    this.#isRefilled = true;
  }

  /** Checkpoints say what it has written: its place, or what it has yet to write. */
  get isCounted(): boolean {
    return this.goesBack || this.source.pending !== undefined;
  }

  /** It can be read again from a position. */
  get goesBack(): boolean {
    return this.source.position !== undefined;
  }
}
