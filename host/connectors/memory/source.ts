/** Takes the rows of a memory topic, in slices so that a busy topic starves nothing else. */
import type { Source, SourceContext } from '../running.js';
import { type Block, MemoryBus, type Subscriber } from '../topics/bus.js';
import { singlesOf } from './runs.js';

const sliceMs = 4;

export class MemorySource implements Source, Subscriber {
  readonly #bus: MemoryBus;
  #queue: Block[] = [];
  #isRunning = false;

  /** @param isSampled of the messages only some are read (`interval`), so each has a frame of its own */
  constructor(
    readonly context: SourceContext,
    private readonly isSampled: boolean,
  ) {
    this.#bus = context.shared('memory.bus', () => new MemoryBus());
  }

  async open(): Promise<void> {
    this.#bus.subscribe(this.context.dataSource, this);
  }

  async close(): Promise<void> {
    this.#bus.unsubscribe(this);
    // Publishers must not wait for a rule that is gone.
    for (const block of this.#queue.splice(0)) block.taken();
  }

  pending(): Uint8Array[] {
    return this.#queue.map(({ bytes }) => bytes);
  }

  /** Called while the kernel runs, so the block waits for its turn. */
  deliver(block: Block): void {
    if (this.isSampled) block.bytes = singlesOf(block.bytes);
    this.#queue.push(block);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    const end = performance.now() + sliceMs;
    this.#isRunning = false;
    while (this.#queue.length > 0) {
      if (this.context.isFull) {
        this.#isRunning = true;
        void this.context.ready().then(() => this.#run());
        return;
      }
      const block = this.#queue.shift()!;
      this.context.write(block.bytes);
      block.taken();
      if (performance.now() > end) {
        this.#schedule();
        return;
      }
    }
  }
}
