/** What went wrong with a source, as its status has it. */
import type { Logger } from '../../base/log.js';
import type { Redact } from '../../base/redact.js';
import { defaultMaxMessageBytes } from './feed-stream.js';
import type { RunningRule } from './running.js';

export abstract class SourceFaults {
  exceptions = 0;
  lastException = '';
  lastExceptionAt = 0;
  /** Messages skipped for their length, as far as they were named. */
  #oversized = 0;

  abstract readonly users: ReadonlySet<RunningRule>;
  abstract readonly name: string;
  abstract readonly label: string;
  abstract readonly redact: Redact;
  abstract readonly log: Logger;

  exception(reason: string): void {
    this.exceptions++;
    this.noteException(reason);
  }

  /** It is not counted. */
  protected noteException(reason: string): void {
    this.#note(this.redact(reason));
    for (const rule of this.users) rule.debug(() => `${this.label}: ${this.lastException}`);
  }

  #note(reason: string): void {
    this.lastException = reason;
    this.lastExceptionAt = Date.now();
  }

  /** Messages that there was no memory for; the kernel counts them. */
  protected noteSkipped(count: number): void {
    this.#oversized += count;
    const reason = `memory is exhausted: ${count} messages that it has no room for were skipped (basic.maxDataMemory)`;
    this.#note(reason);
    this.log.warn(`stream ${this.name}: ${reason}`);
  }

  /** Names messages that were skipped for their length, which the kernel only counts. */
  noteOversized(count: number): void {
    if (count === this.#oversized) return;
    const news = count - this.#oversized;
    this.#oversized = count;
    this.#note(`${news} messages longer than ${defaultMaxMessageBytes} bytes were skipped`);
  }
}
