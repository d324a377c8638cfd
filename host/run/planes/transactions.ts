/**
 * Transactions that nobody would end: those of sinks whose rule is deleted or has other sinks now. What the last
 * checkpoint of the rule has is committed, all else aborted. Where a sink is away that is noted on disk and tried again
 * until it is there, over restarts of the server.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../base/errors.js';
import { makeFolderSync } from '../../base/files/folder.js';
import type { Logger } from '../../base/log/log.js';
import { systemClock, type Timer } from '../../base/time/clock.js';
import { connectorOf } from '../../connectors/index.js';
import type { RuleDefinition } from '../../model/engine.js';
import type { SettledNotice, SinkSpec } from '../link/protocol.js';
import type { CheckpointFolders } from '../props/checkpoint-folders.js';
import type { Planes } from './planes.js';

/** A sink that a rule no longer has. */
interface Left {
  /** Rule with this sink alone, at the number of its action. */
  readonly rule: Pick<RuleDefinition, 'id' | 'options' | 'partOf'>;
  readonly action: number;
  readonly type: string;
  readonly props: Readonly<Record<string, unknown>>;
  /** Position of the last checkpoint in the sink; left out when there was none. */
  readonly position?: unknown;
}

export interface TransactionsOptions {
  readonly folder: string;
  readonly checkpoints: CheckpointFolders;
  readonly planes: Planes;
  /** Resolves the sinks of a rule; throws when something that they name is gone. */
  specsOf(rule: RuleDefinition): SinkSpec[];
  readonly log: Logger;
}

const ending = '.json';
/** Time until a sink that is away is tried again, ms: it doubles up to the last one. */
const firstPauseMs = 1000;
const longestPauseMs = 60_000;
/** A data plane that has not told by then never will, ms. */
const longestWaitMs = 15_000;

export class Transactions {
  readonly #options: TransactionsOptions;
  /** Sinks whose transactions could not be ended yet, by the name of their file. */
  readonly #left = new Map<string, Left>();
  readonly #timers = new Map<string, Timer>();
  readonly #waiting = new Map<number, (notice: SettledNotice) => void>();
  #lastNumber = 0;

  constructor(options: TransactionsOptions) {
    this.#options = options;
    this.#open();
  }

  /**
   * Ends what a rule that does not run has in sinks that it has no more, `next` being what it is now; before its
   * checkpoints go. Returns what has to wait for a sink, a sentence each.
   */
  async settle(rule: RuleDefinition, next?: RuleDefinition): Promise<readonly string[]> {
    const folder = this.#options.checkpoints.of(rule.id);
    if (folder === undefined || !existsSync(folder)) return [];
    const kept = next === undefined ? [] : this.#heldBy(next);
    const reasons: string[] = [];
    for (const one of this.#heldBy(rule)) {
      if (kept.some((other) => isSame(one, other))) continue;
      const { reason, position } = await this.#try(one, folder);
      if (reason === undefined) continue;
      reasons.push(`sink ${one.type}: its transactions are not ended yet: ${reason}`);
      this.#note({ ...one, ...(position === undefined ? {} : { position }) });
    }
    for (const reason of reasons) this.#options.log.warn(`rule ${rule.id}: ${reason}`);
    return reasons;
  }

  /**
   * Positions where an earlier rule of that id ended in sinks with transactions, by action: a run that opens one ends
   * the rest.
   */
  endsOf(id: string): Record<string, unknown> | undefined {
    const ends = [...this.#left.values()].filter(({ rule, position }) => rule.id === id && position !== undefined);
    return ends.length === 0 ? undefined : Object.fromEntries(ends.map((one) => [String(one.action), one.position]));
  }

  /** Reads the sinks whose transactions an earlier run of the server could not end. */
  #open(): void {
    const { folder, log } = this.#options;
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) {
      try {
        this.#left.set(name, JSON.parse(readFileSync(join(folder, name), 'utf8')) as Left);
        this.#tryLater(name, 0);
      } catch (error) {
        log.error(`transactions that a rule has left can't be ended: ${join(folder, name)}: ${reasonOf(error)}`);
      }
    }
  }

  noticed(notice: SettledNotice): void {
    this.#waiting.get(notice.number)?.(notice);
  }

  close(): void {
    for (const timer of this.#timers.values()) timer.close();
  }

  /** The sinks in which a rule may have transactions. */
  #heldBy(rule: RuleDefinition): Left[] {
    const { id, options, partOf } = rule;
    const own = { id, options, ...(partOf !== undefined && { partOf }) };
    if ((this.#options.checkpoints.orderOf(rule)?.qos ?? 0) < 2) return [];
    return rule.actions.flatMap(({ type, props, deadLettersOf }, action) =>
      deadLettersOf === undefined && connectorOf(type)?.sink?.hasTransactions
        ? [{ rule: own, action, type, props }]
        : [],
    );
  }

  /** @param folder with the checkpoints of the rule, as long as they tell where it ended */
  async #try(left: Left, folder?: string): Promise<Pick<SettledNotice, 'reason' | 'position'>> {
    const { planes, specsOf } = this.#options;
    const { rule, action, type, props, position } = left;
    let spec: SinkSpec;
    try {
      const actions = [{ type, props: { ...props } }];
      spec = specsOf({ ...rule, name: rule.id, sql: '', actions, triggered: false })[0]!;
    } catch (error) {
      return { reason: reasonOf(error), position };
    }
    const number = ++this.#lastNumber;
    const order = { rule: rule.partOf ?? rule.id, action, spec, ...(folder === undefined ? { position } : { folder }) };
    const late: SettledNotice = { kind: 'settled', number, reason: 'the data plane did not answer', position };
    const told = await new Promise<SettledNotice>((resolve) => {
      const timer = systemClock.after(longestWaitMs, () => resolve(late));
      this.#waiting.set(number, (notice) => {
        timer.close();
        resolve(notice);
      });
      planes.first.command({ kind: 'settle', number, order });
    });
    this.#waiting.delete(number);
    return told;
  }

  #note(left: Left): void {
    const { folder, log } = this.#options;
    const name = `${encodeURIComponent(left.rule.id).slice(0, 150)}-${Date.now()}-${left.action}${ending}`;
    this.#left.set(name, left);
    try {
      makeFolderSync(folder, true);
      writeFileSync(join(folder, name), JSON.stringify(left), { mode: 0o600, flush: true });
    } catch (error) {
      log.error(`after a restart of the server nobody ends transactions of rule ${left.rule.id}: ${reasonOf(error)}`);
    }
    this.#tryLater(name, firstPauseMs);
  }

  #tryLater(name: string, pauseMs: number): void {
    this.#timers.set(
      name,
      systemClock.after(pauseMs, () => void this.#again(name, pauseMs)),
    );
  }

  async #again(name: string, pauseMs: number): Promise<void> {
    const left = this.#left.get(name);
    if (left === undefined) return;
    const { reason } = await this.#try(left);
    if (reason !== undefined) {
      this.#tryLater(name, Math.min(longestPauseMs, Math.max(firstPauseMs, pauseMs * 2)));
      return;
    }
    this.#left.delete(name);
    this.#timers.delete(name);
    rmSync(join(this.#options.folder, name), { force: true });
    this.#options.log.info(`rule ${left.rule.id}: the transactions that it had left in sink ${left.type} are ended`);
  }
}

function isSame(one: Left, other: Left): boolean {
  return (
    one.action === other.action && one.type === other.type && JSON.stringify(one.props) === JSON.stringify(other.props)
  );
}
