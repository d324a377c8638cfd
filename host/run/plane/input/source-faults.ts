/** Faults of a source, as its status shows them. */
import { reasonOf } from '../../../base/errors.js';
import type { Logger } from '../../../base/log/log.js';
import { nothingSecret, type Redact, redactOf } from '../../../base/secrets/redact.js';
import type { Source } from '../../../connectors/running.js';
import { defaultMaxMessageBytes } from '../feed/feed-stream.js';
import type { RunningRule } from '../running/running.js';

/** Different failures that are told of at once. */
const mostTexts = 3;

export abstract class SourceFaults {
  exceptions = 0;
  /** Exceptions that are no failure of the connection: what could not be read or taken. */
  failures = 0;
  lastFailure = '';
  lastFailureAt = 0;
  readonly #untold = new Set<string>();
  /** The connection is lost and counted: attempts to get it back are not counted again. */
  protected isLost = false;
  lastException = '';
  lastExceptionAt = 0;
  /** Messages skipped for their length, as far as they were named. */
  #oversized = 0;
  #secrets: readonly string[] = [];
  #masked = nothingSecret;
  /** Masks the secrets of its properties as they are now. */
  readonly redact: Redact = (text) => this.#masked(text);

  abstract readonly users: ReadonlySet<RunningRule>;
  abstract readonly name: string;
  abstract readonly label: string;
  abstract readonly log: Logger;

  /** Something failed that the log of the rules is to name. */
  protected abstract noteLoss(): void;

  /** Masks these secrets from now on. */
  protected masks(secrets: readonly string[] = []): void {
    if (`${secrets}` === `${this.#secrets}`) return;
    // Errors of an attempt under way may have the former secrets.
    this.#masked = redactOf([...this.#secrets, ...secrets]);
    this.#secrets = secrets;
  }

  exception(reason: string, failures = 1): void {
    this.exceptions += failures;
    this.failures += failures;
    this.noteException(reason);
    this.#noteFailure();
    this.noteLoss();
  }

  /** The connection failed, which its own log lines tell of. */
  protected connectionFailed(reason: string): void {
    this.exceptions++;
    this.noteException(reason);
  }

  /** An attempt to connect failed. */
  protected attemptLost(reason: string): void {
    if (this.isLost) this.noteException(reason);
    else this.connectionFailed(reason);
    this.isLost = true;
  }

  /** Returns why what is read can't go on from the position. */
  protected seekIn(read: Pick<Source, 'seek'>, position: unknown): string | undefined {
    if (read.seek === undefined) return 'it keeps no place that could be reset';
    try {
      read.seek(position);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  /** Notes an exception without counting it. */
  protected noteException(reason: string): void {
    this.#note(this.redact(reason));
    for (const rule of this.users) rule.debug(() => `${this.label}: ${this.lastException}`);
  }

  #note(reason: string): void {
    this.lastException = reason;
    this.lastExceptionAt = Date.now();
  }

  #noteFailure(): void {
    this.lastFailure = this.lastException;
    this.lastFailureAt = this.lastExceptionAt;
    if (this.#untold.size < mostTexts) this.#untold.add(this.lastFailure);
  }

  takeUntold(): string[] {
    const texts = [...this.#untold];
    this.#untold.clear();
    return texts;
  }

  /** Messages that there was no memory for; the kernel counts them. False without any. */
  noteSkipped(count: number): boolean {
    if (count === 0) return false;
    this.#oversized += count;
    const reason = `memory is exhausted: ${count} messages that it has no room for were skipped (basic.maxDataMemory)`;
    this.#note(reason);
    this.#noteFailure();
    this.log.warn(`stream ${this.name}: ${reason}`);
    return true;
  }

  /** Names messages that were skipped for their length, which the kernel only counts. */
  noteOversized(count: number): void {
    if (count === this.#oversized) return;
    const news = count - this.#oversized;
    this.#oversized = count;
    this.#note(`${news} messages longer than ${defaultMaxMessageBytes} bytes were skipped`);
    this.#noteFailure();
  }
}
