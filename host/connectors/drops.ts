/** Messages that a source drops since the sinks take no more, and its server can't be told to wait: each is counted. */
import type { SourceContext } from './running.js';

/** They are told of so soon, ms, many at once. */
const toldAfterMs = 100;

export class Drops {
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly context: Pick<SourceContext, 'exception'>) {}

  add(): void {
    this.#count++;
    this.#timer ??= setTimeout(() => this.tell(), toldAfterMs).unref();
  }

  /** Tells of those so far at once. */
  tell(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const count = this.#count;
    this.#count = 0;
    if (count > 0) this.context.exception(`${count} messages were dropped: the sinks take no more`, count);
  }
}
