/** Keeps the bytes of frames for a log, until the kernel has taken them. */
import { type Cut, CutStore } from '../../../../base/bytes/cut-store.js';
import { FrameEnds } from '../../../../connectors/messages/frames.js';

export class FrameCutter {
  readonly #frames = new FrameEnds();
  readonly #store = new CutStore();

  add(bytes: Uint8Array): void {
    const start = this.#store.add(bytes);
    this.#frames.read(bytes, (end) => this.#store.end(start + end));
  }

  reset(): void {
    this.#store.clear();
    this.#frames.reset();
  }

  take(messages: number): Cut | undefined {
    return this.#store.take(messages);
  }
}
