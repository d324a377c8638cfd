/** One rule's part in a checkpoint, on its way to disk. */
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import type { KeptState } from '../../../link/shared-states.js';
import type { Claim } from '../../acknowledge/retention.js';
import type { RunningRule } from '../../running/running.js';
import { type Cut, type Cutter, mostSliceBytes } from './cutter.js';
import type { CheckpointFiles } from './files.js';
import type { CheckpointHead } from './head.js';
import type { Joint, Part } from './joint.js';
import type { MarkedName } from './marks.js';
import { Pieces } from './segments.js';
import type { Shared } from './shared.js';

/** The checkpoints of the rule, as its parts see them. */
export interface PartOwner {
  readonly order: { readonly qos: number };
  readonly rule: RunningRule | undefined;
  readonly cutter: Cutter;
  readonly files: CheckpointFiles;
  /** Undefined where the state stays on this machine. */
  readonly shared: Shared | undefined;
  readonly log: Logger;
  /** The rule ends. */
  readonly isClosed: boolean;
  noteCounted(done: { head: CheckpointHead; pauseMs: number; writtenBytes: number; tookMs: number }): void;
  /** To be called when a checkpoint that counts could not get its name. */
  noteUnnamed(reason: string): void;
  noteFailed(reason: string, isLast: boolean): void;
}

/** Longest wait of an ended rule for the rules that it is joined with, ms. */
const othersMs = 5000;

export class RulePart implements Part {
  joint?: Joint<RulePart>;
  #head: CheckpointHead | undefined;
  #prepared: Promise<boolean> | undefined;
  #began = performance.now();
  /** Copied rows of a rule that ends. */
  readonly #rows = new Pieces();
  #settle: (isOut: boolean) => void = () => {};
  /** Resolves when the sinks have had their time after the last part. */
  readonly #isSettled = new Promise<boolean>((resolve) => {
    this.#settle = resolve;
  });

  /** @param claims on messages that are in it */
  constructor(
    readonly owner: PartOwner,
    readonly cut: Cut,
    readonly name: MarkedName,
    readonly claims: readonly Claim[],
    readonly isLast: boolean,
  ) {}

  /** Copies the rows that the kernel has for the part; false when that fails. */
  takeRows(): boolean {
    const { owner, cut } = this;
    try {
      owner.cutter.writeRows(owner.rule!, cut, this.#rows, Number.MAX_SAFE_INTEGER);
      return true;
    } catch (error) {
      owner.log.error(`no checkpoint could be taken: ${reasonOf(error)}`);
      return false;
    }
  }

  /** Gives the part up before it is on disk. */
  undo(): void {
    this.owner.cutter.abandon();
    for (const claim of this.claims) claim.giveBack();
  }

  /** To be called when the sinks of an ended rule had their time; `isOut` says that all output is with the outside. */
  settle(isOut: boolean): void {
    this.#settle(isOut);
  }

  prepare(signal: AbortSignal): Promise<boolean> {
    this.#prepared ??= this.isLast ? this.#prepareLast() : this.#prepare(signal);
    return this.#prepared;
  }

  async #prepareLast(): Promise<boolean> {
    if (!(await this.#isSettled)) return false;
    this.#began = performance.now();
    await this.#write((pieces) => {
      pieces.takeAll(this.#rows);
      return false;
    });
    await this.#sync();
    return true;
  }

  async #prepare(signal: AbortSignal): Promise<boolean> {
    const { owner, cut } = this;
    const givenUp = new Promise<false>((resolve) => {
      signal.addEventListener('abort', () => resolve(false), { once: true });
    });
    await this.#write((pieces) => {
      if (signal.aborted) throw new Error('it was given up');
      return owner.cutter.writeRows(owner.rule!, cut, pieces, pieces.bytes + mostSliceBytes);
    });
    if (signal.aborted || !(await Promise.race([cut.isOut.then(() => true), givenUp]))) return false;
    await this.#sync();
    return true;
  }

  async #write(next: (pieces: Pieces) => boolean): Promise<void> {
    const { owner, cut } = this;
    this.#head = await owner.cutter.rowsToDisk(cut, next);
    await owner.files.write(this.#head, [...cut.state.pieces, ...cut.pending]);
  }

  async #sync(): Promise<void> {
    const { rule, order } = this.owner;
    const { sources: places } = this.cut.head;
    await Promise.all([
      ...(rule?.sinks ?? []).map((sink) => sink.sync()),
      ...(rule?.sources ?? []).map((source) => source.places?.logged(places[source.name], order.qos > 1)),
    ]);
  }

  /** The files that make the part up, once it is prepared; undefined where they stay on this machine. */
  get kept(): KeptState | undefined {
    return this.owner.shared?.stateOf(this.#head!, this.owner.files);
  }

  publish(): Promise<void> {
    const { files, log } = this.owner;
    return files.publish(this.cut.head.epoch, (reason) => log.warn(reason));
  }

  count(unnamed: string | undefined): void {
    const { pauseMs, writtenBytes } = this.cut;
    const tookMs = performance.now() - this.#began;
    this.owner.noteCounted({ head: this.#head!, pauseMs, writtenBytes, tookMs });
    if (unnamed !== undefined) this.owner.noteUnnamed(unnamed);
    for (const claim of this.claims) claim.pass();
  }

  untold(reason: string): void {
    this.owner.log.error(`a checkpoint counts, but not all that wait for it could be told: ${reason}`);
  }

  async fail(reason: string | undefined): Promise<void> {
    const { owner, cut, isLast } = this;
    if (reason !== undefined) owner.noteFailed(reason, isLast);
    for (const claim of this.claims) claim.giveBack();
    await owner.files.abandon(cut.head.epoch).catch(() => {});
  }
}

/**
 * Resolves with whether the last checkpoint of a rule counts, alone or joint with others. It does not when joined rules
 * let it wait too long.
 */
export async function outcomeOf(last: RulePart): Promise<boolean> {
  const patience = setTimeout(() => {
    if (last.joint!.parts.length > 1) last.joint!.giveUp();
  }, othersMs);
  try {
    for (;;) {
      const joint = last.joint!;
      const isKept = await joint.outcome;
      if (joint === last.joint) return isKept;
    }
  } finally {
    clearTimeout(patience);
  }
}
