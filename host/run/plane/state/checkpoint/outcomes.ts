/** What became of the checkpoints of a rule: figures for its status, and who is told that one counts. */
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import type { SegmentedRows } from '../../../link/moving.js';
import type { Retainer } from '../../acknowledge/retention.js';
import type { RunningRule } from '../../running/running.js';
import type { PartOwner } from './rule-part.js';

export abstract class Outcomes implements Retainer {
  count = 0;
  /** Time of the last checkpoint, epoch ms; 0 before any. */
  lastAt = 0;
  lastBytes = 0;
  lastWrittenBytes = 0;
  lastPauseMs = 0;
  lastMs = 0;
  failure = '';
  /** Rows of the last checkpoint that are on disk in segments. */
  rows: SegmentedRows | undefined;
  failedSince = Number.POSITIVE_INFINITY;
  abstract readonly rule: RunningRule | undefined;
  abstract readonly log: Logger;
  abstract readonly isHolding: boolean;
  abstract request(): void;
  abstract isClosed: boolean;

  noteCounted({ head, pauseMs, writtenBytes, tookMs }: Parameters<PartOwner['noteCounted']>[0]): void {
    if (this.failure !== '' && this.count > 0) this.log.info('checkpoints are written again');
    this.failure = '';
    this.failedSince = Number.POSITIVE_INFINITY;
    this.count++;
    this.lastAt = Date.now();
    this.lastBytes = head.stateBytes;
    this.rows = head.rows;
    this.lastWrittenBytes = writtenBytes;
    this.lastPauseMs = Math.round(pauseMs * 1000) / 1000;
    this.lastMs = Math.round(tookMs);
    for (const source of new Set(this.rule?.sources))
      this.#tell(source.label, () => source.retention.committed(this, head.sources[source.name]));
    this.rule?.sinks.forEach((sink, i) => {
      if (head.sinks[i] !== undefined) this.#tell(`sink ${sink.spec.type}`, () => sink.commit(head.sinks[i]));
    });
  }

  /** Calls a connector, whose failure must not keep the others from being told. */
  #tell(label: string, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.log.error(`${label} can't make use of a checkpoint that counts: ${reasonOf(error)}`);
    }
  }

  noteUnnamed(reason: string): void {
    const next = 'the next start of the rule tries again';
    this.failure = `the last checkpoint counts, but could not get its name: ${reason}; ${next}`;
    this.log.error(this.failure);
  }

  noteFailed(reason: string, isLast: boolean): void {
    const what = `no checkpoint could be written: ${reason}`;
    if (this.isClosed && !isLast) this.log.debug(what);
    else if (this.failure !== what) this.log.error(what);
    this.failure = what;
    this.failedSince = Math.min(this.failedSince, Date.now());
  }
}
