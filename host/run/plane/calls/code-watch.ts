/**
 * Looks after the code of users in a data plane: takes its log lines, and ends rules whose code has to be ended again
 * and again.
 */
import type { Logger } from '../../../base/log/log.js';
import type { CodeHost } from '../../../plugins/define.js';
import { UserMemory } from './user-memory.js';

/** Number of faults within `faultMs` after which the code is stopped. */
const maxFaults = 10;
const faultMs = 10_000;
/** Lines of one owner within a second; what comes faster is left out and counted. */
const maxLines = 100;

export class CodeWatch {
  /** Memory of the code of all owners. */
  readonly memory: UserMemory;
  readonly #log: Logger;

  /**
   * @param options with the bytes that all code may have together; see UserMemory
   * @param stop ends all rules that use code of the owner
   */
  constructor(
    options: { readonly log: Logger; readonly maxUserMemoryBytes?: number; readonly planes?: number },
    private readonly stop: (owner: string, reason: string) => void,
  ) {
    this.#log = options.log;
    this.memory = new UserMemory(options.maxUserMemoryBytes, options.planes);
  }

  /** Returns the interface through which the code of an owner reports. */
  hostOf(owner: string): CodeHost {
    let faults: number[] = [];
    let elsewhereMs = 0;
    let second = 0;
    let lines = 0;
    return {
      memory: this.memory.of(owner),
      log: (line) => {
        const now = Math.floor(Date.now() / 1000);
        if (now !== second) {
          if (lines > maxLines) this.#log.warn(`${owner}: ${lines - maxLines} lines were left out`);
          second = now;
          lines = 0;
        }
        if (lines++ < maxLines) this.#log.info(`${owner}: ${line}`);
      },
      fault: (reason, tookMs = 0) => {
        // A call that is ended after ten seconds would never be the tenth within ten.
        elsewhereMs += tookMs;
        const now = Date.now() - elsewhereMs;
        faults = [...faults.filter((at) => now - at < faultMs), now];
        if (faults.length < maxFaults) return;
        faults = [];
        this.stop(owner, `${owner} had to be ended ${maxFaults} times within ${faultMs / 1000} s, at last: ${reason}`);
      },
    };
  }
}
