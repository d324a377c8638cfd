/**
 * Places of the rules with checkpoints in a source: the source starts at these places, and rules that come later catch
 * up in branches.
 */
import { KernelError } from '../../../../kernels/memory/error.js';
import { reasonOf } from '../../../base/errors.js';
import type { Source } from '../../../connectors/running.js';
import type { FedSource } from '../feed/fed-source.js';
import type { RunningPlaces, RunningRule } from '../running/running.js';
import type { InputLog } from './input-log/input-log.js';
import { AwayInput } from './places/away-input.js';
import { CatchUp, type Earlier, nothingEarlier, pendingEarlier } from './places/catch-up.js';
import { LogPlaces, noteMissing } from './places/log-places.js';
import { Places } from './places/places.js';
import { startAt } from './places/start-at.js';

export class RulePlaces implements RunningPlaces {
  readonly #places: Places;
  /** Rules that came while the source ran and have not caught up yet. */
  readonly #catchUps = new Map<RunningRule, CatchUp>();
  /** Input that is kept for rules that come back, by rule. */
  readonly #away = new Map<string, AwayInput>();
  /** Input log of the source; undefined without one. */
  #log: InputLog | undefined;

  constructor(
    private readonly source: FedSource,
    private readonly connector: Source,
  ) {
    this.#places = new Places(source);
  }

  /** Opens the input log, and gives it the places of the rules. */
  useLog(open: (places: LogPlaces) => InputLog): InputLog {
    this.#log = open(new LogPlaces(this.source, this.#places));
    return this.#log;
  }

  get rewinds(): boolean {
    return this.connector.position !== undefined;
  }

  get ahead(): ReadonlySet<RunningRule> {
    return this.#places.ahead;
  }

  amongHere(rules: ReadonlySet<RunningRule>): ReadonlySet<RunningRule> {
    return this.#places.amongHere(rules);
  }

  /** Whether the position is one of an earlier run. */
  isGiven(position: unknown): boolean {
    return this.#places.isGiven(position);
  }

  /** To be called when all rules that start together are there; a log asks for their places by itself. */
  start(): void {
    if (this.#log === undefined) startAt(this.source, this.#places, this.connector);
    for (const one of this.#catchUps.values()) one.begin();
  }

  goOnFrom(rule: RunningRule, position: unknown): string | undefined {
    // A log that is not open yet asks for all places when it is.
    if (this.source.hasStarted && this.#log?.isOpen !== false) return this.#catchUpFrom(rule, position);
    const reason = this.source.seek(position);
    if (reason === undefined) this.#places.set(rule, position);
    return reason;
  }

  /** Gives a rule that comes while others read its missing input in a branch; returns the reason when that can't be. */
  #catchUpFrom(rule: RunningRule, position: unknown): string | undefined {
    if (this.connector.isAt?.(position) === true) return undefined;
    if (this.#log === undefined) {
      noteMissing(this.source, rule, undefined);
      return 'others read the stream already, and what they have read is gone';
    }
    const { source } = this;
    const { earlier, missing } = this.#log.earlierFrom(position, (messages, reason) => {
      source.host.lost({ resource: 'stream', name: source.name, what: 'messages', reason, messages });
      rule.inputLost(source, messages, reason);
    });
    if (missing !== 0) noteMissing(this.source, rule, Number.isNaN(missing) ? undefined : missing);
    return earlier && this.#catchUp(rule, earlier);
  }

  #catchUp(rule: RunningRule, earlier: Earlier): string | undefined {
    try {
      const { source } = this;
      const over = () => {
        this.#catchUps.delete(rule);
        this.#places.leave(rule);
      };
      this.#catchUps.set(rule, new CatchUp(source, () => this.source.position(), rule, earlier, over));
      this.#places.setElsewhere(rule);
      return undefined;
    } catch (error) {
      earlier.close();
      if (!(error instanceof KernelError) || error.isFatal) throw error;
      return reasonOf(error);
    }
  }

  catchUpWith(rule: RunningRule, bytes: Uint8Array): string | undefined {
    return this.#catchUp(rule, pendingEarlier(bytes));
  }

  awaitTables(rule: RunningRule): void {
    // A log that is not open yet has its place.
    if (this.#catchUps.has(rule) || this.#places.has(rule)) return;
    const reason = this.#catchUp(rule, nothingEarlier(this.source.position()));
    if (reason === undefined) return;
    rule.log.warn(`rows of stream ${this.source.name} may find its tables unread: ${reason}`);
  }

  get readsAgain(): boolean {
    const { seekAll, takesAway } = this.connector;
    return this.#log !== undefined || (seekAll !== undefined && takesAway !== true);
  }

  isHere(rule: RunningRule): boolean {
    const { source } = this;
    // Input that waits for its turn lies before the position of the source, but has not come to the rule.
    const isBetween = source.starvedSince === 0 && !source.isReadAhead;
    return isBetween && !this.#places.has(rule) && !this.ahead.has(rule) && source.position() !== undefined;
  }

  awaits(rule: RunningRule): void {
    const log = this.#log;
    if (log === undefined || this.#away.has(rule.id)) return;
    const { branches } = this.source;
    const away = new AwayInput(log.heldFrom(this.positionOf(rule)), () => {
      branches.all.delete(away);
      this.#away.delete(rule.id);
    });
    branches.all.add(away);
    this.#away.set(rule.id, away);
  }

  joined(rule: RunningRule): void {
    this.#away.get(rule.id)?.close();
    this.#catchUps.get(rule)?.begin();
  }

  positionOf(rule: RunningRule): unknown {
    const branch = rule.lag?.branchOf(this.source);
    if (branch !== undefined) return branch.position;
    return this.#places.has(rule) ? this.#places.of(rule) : this.source.position();
  }

  pendingOf(rule: RunningRule): Uint8Array | undefined {
    const { sampled } = this.source;
    const { connector } = this;
    if (connector.pending === undefined && sampled === undefined) return undefined;
    const own = [...(connector.pending?.() ?? []), ...(sampled === undefined ? [] : [sampled])];
    const parts = [...(this.#catchUps.get(rule)?.rest() ?? []), ...own];
    return parts.length === 0 ? undefined : Buffer.concat(parts);
  }

  async logged(position: unknown, isExact: boolean): Promise<void> {
    const isForOthers = this.source.users.size > 1 || this.#away.size > 0;
    const isForSender = isExact && this.source.redeliveries !== undefined;
    if (isForOthers || isForSender) await this.#log?.storedUpTo(position);
  }

  /**
   * Whether a rule that goes on from the position is to read the source by itself, since it runs, is elsewhere, and can
   * be read twice.
   */
  isPassedBy(position: unknown): boolean {
    if (!this.source.hasStarted || this.#log !== undefined || !this.rewinds || position === undefined) return false;
    return this.connector.takesAway !== true && this.connector.isAt?.(position) !== true;
  }

  /** To be called when no more input comes: all places count as reached. */
  reachedAll(): void {
    this.#places.reached([...this.#places.rules]);
  }

  leave(rule: RunningRule): void {
    this.#places.leave(rule);
  }

  close(): void {
    this.#places.close();
  }
}
