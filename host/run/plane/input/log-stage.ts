/**
 * The log of a source's input, where it has one, as a stage before the kernel. It takes a copy of what comes, and what
 * it holds is taken again before anything new may come.
 */
import { KernelError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';
import type { InputLog } from '../state/input-log/input-log.js';

export class LogStage extends PassingStage<Input> {
  /** Messages that no rule has safe yet. */
  log: InputLog | undefined;
  /** The input at work is replayed from the log. */
  isReplay = false;
  /** New input may come. */
  isLive = false;

  /**
   * @param isUnread says whether input has come that the kernel has not taken whole
   * @param failed the source can't go on
   */
  constructor(
    private readonly isUnread: () => boolean,
    private readonly failed: (reason: string) => unknown,
  ) {
    super();
  }

  write(input: Input): boolean {
    this.log?.cut(input.bytes, this.isUnread);
    return this.next.write(input);
  }

  /** Input is written to the log. */
  get isReady(): boolean {
    return this.log?.isReady === true;
  }

  /** Calls back when new input may come. */
  begin(live: () => void): void {
    const goLive = () => {
      this.isLive = true;
      live();
    };
    if (this.log === undefined) goLive();
    else this.#takeAgain(this.log, goLive);
  }

  /** The source has a log from now on, whether it has begun or not. */
  use(log: InputLog, hasBegun: boolean): void {
    this.log = log;
    if (hasBegun) this.#takeAgain(log, () => {});
  }

  #takeAgain(log: InputLog, taken: () => void): void {
    void log.replay().then(taken, (error: unknown) => {
      // Nobody knows what state the kernel is in: the data plane is replaced.
      if (error instanceof KernelError && error.isFatal) throw error;
      this.failed(`its input log can't be taken again: ${reasonOf(error)}`);
    });
  }

  /** Works on what comes from the log. */
  replay(work: () => void): void {
    this.isReplay = true;
    try {
      work();
    } finally {
      this.isReplay = false;
    }
  }

  /** Fault of the log; empty without one. */
  get trouble(): string {
    return this.log?.trouble ?? '';
  }
}
