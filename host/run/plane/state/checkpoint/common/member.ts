/**
 * A rule that belongs to a divided one, in their common checkpoints. Those that read the stream are cut by an order,
 * the others when a marker has come on all topics that they read; what comes behind it waits until then. Each passes
 * the marker on behind its own rows. So the states are of one instant in the flow of rows, whichever data planes it
 * takes them through.
 */
import { reasonOf } from '../../../../../base/errors.js';
import { type Marker, MemoryBus } from '../../../../../connectors/topics/bus.js';
import type { CommonNews, CommonState, CommonStep } from '../../../../../model/common-state.js';
import type { Command, Notice } from '../../../../link/protocol.js';
import type { PlaneHost, RunningRule } from '../../../running/running.js';
import { pendingOf } from '../of-rule.js';
import type { PartOwner, RulePart } from '../rule-part.js';

/** Checkpoints of the rule, as its membership sees them. */
export interface MemberOwner extends PartOwner {
  /** Cuts the rules at one instant for the checkpoint of a number; undefined when one can't be cut now. */
  takeTogether(owners: readonly MemberOwner[], number: number): RulePart[] | undefined;
}

/** A common checkpoint under way, as one member has it. */
interface Step {
  readonly marker: Marker;
  readonly abort: AbortController;
  /** When the rule heard of it, as `performance.now()`. */
  readonly begun: number;
  /** Topics on which its marker has come. */
  readonly marked: Set<string>;
  part: RulePart | undefined;
  /** Resolves when the part is on disk, or comes to nothing. */
  written: Promise<void> | undefined;
  /** Why the part came to nothing. */
  reason: string | undefined;
}

type Order = Extract<Command, { kind: 'common' }>;
type Members = Map<number, CommonMember>;

/** Time between two attempts to cut, ms. */
const pollMs = 5;
/** Longest time that the last checkpoint waits for answers: then the rows that wait are in it, ms. */
const answersMs = 5000;

function membersOf({ shared }: Pick<PlaneHost, 'shared'>): Members {
  return shared<Members>('checkpoint.members', () => new Map());
}

function tellerOf({ shared }: Pick<PlaneHost, 'shared'>): (notice: Notice) => void {
  return shared<(notice: Notice) => void>('notices', () => () => {});
}

/** Carries out an order for rules of this data plane; those that are gone have told of their end. */
export function carryOut(host: Pick<PlaneHost, 'shared'>, { runs, step, number, isLast }: Order): void {
  const all = membersOf(host);
  const members = runs.flatMap((run) => all.get(run) ?? []);
  if (step === 'cut') void cutTogether(members, { number, isLast });
  else for (const member of members) void member.settle(step, number);
}

/** Cuts the rules at one instant, as soon as all of them can be. */
async function cutTogether(members: readonly CommonMember[], marker: Marker): Promise<void> {
  const steps = members.map((member) => member.stepOf(marker));
  while (steps.every(({ abort }) => !abort.signal.aborted)) {
    const parts = members.every((member, i) => !marker.isLast || member.isDrained(steps[i]!))
      ? members[0]?.owner.takeTogether(
          members.map(({ owner }) => owner),
          marker.number,
        )
      : undefined;
    if (parts !== undefined) {
      parts.forEach((part, i) => {
        members[i]!.taken(steps[i]!, part);
      });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

export class CommonMember {
  /** The last checkpoint counts: the rule ends with it. */
  isLastKept = false;
  readonly #bus: MemoryBus;
  readonly #members: Members;
  readonly #tell: (notice: Notice) => void;
  #rule: RunningRule | undefined;
  #step: Step | undefined;
  /** Number of the last one that counts or came to nothing. */
  #over: number;
  /** The last order that is carried out. */
  #settling: Promise<void> | undefined;
  #unlisten: (() => void)[] = [];
  /** Who wait for the outcome of a checkpoint, those for any and those for the last one. */
  #awaitFirst: (() => void)[] = [];
  #awaitLast: (() => void)[] = [];

  constructor(
    readonly owner: MemberOwner,
    readonly common: CommonState,
    private readonly host: PlaneHost,
  ) {
    this.#bus = host.shared('memory.bus', () => new MemoryBus());
    this.#members = membersOf(host);
    this.#tell = tellerOf(host);
    this.#over = common.from.number;
  }

  /** To be called when the rule is linked, before its sources begin. */
  begin(rule: RunningRule): void {
    this.#rule = rule;
    this.#members.set(rule.run, this);
    this.#unlisten = this.common.reads.map((topic) =>
      this.#bus.takeMarkers(topic, (marker) => this.#marked(topic, marker)),
    );
  }

  /** The rule begins checkpoints, as it reads no topic of the others. */
  get isFirst(): boolean {
    return this.common.reads.length === 0;
  }

  /** Asks for a checkpoint, since a sender waits for one. */
  want(): true {
    this.#news({ what: 'wanted' });
    return true;
  }

  /** Resolves when a checkpoint is over. */
  whenFirst(): Promise<void> {
    return new Promise((resolve) => this.#awaitFirst.push(resolve));
  }

  /** Tells that all input was read; resolves when the last checkpoint is over. */
  finished(): Promise<void> {
    this.#news({ what: 'finished' });
    return new Promise((resolve) => this.#awaitLast.push(resolve));
  }

  /** Nothing waits that the rule is to work on before its last checkpoint; what gathers is sent. */
  isDrained({ begun }: Step): boolean {
    const rule = this.#rule;
    if (rule === undefined || pendingOf(rule).length > 0) return false;
    if (performance.now() - begun < answersMs && !rule.waitings.every(({ isAnswered }) => isAnswered)) return false;
    const { kernel } = rule.host;
    this.host.work(new Set([rule]), () => {
      for (const { kind, handle } of rule.nodes) if (kind === 'encode') kernel.flush(handle);
    });
    return true;
  }

  #news(news: CommonNews): void {
    if (this.#rule !== undefined) this.#tell({ kind: 'common', run: this.#rule.run, news });
  }

  stepOf(marker: Marker): Step {
    if (this.#step?.marker.number === marker.number) return this.#step;
    const abort = new AbortController();
    const empty = { part: undefined, written: undefined, reason: undefined };
    this.#step = { marker, abort, begun: performance.now(), marked: new Set(), ...empty };
    return this.#step;
  }

  #marked(topic: string, marker: Marker): void {
    // It may have been given up before the marker was here.
    if (marker.number <= this.#over) return;
    const { marked } = this.stepOf(marker);
    marked.add(topic);
    this.#bus.hold(topic);
    // The one that passes it on may be in the middle of its cut.
    if (marked.size === this.common.reads.length) setImmediate(() => void cutTogether([this], marker));
  }

  /** Takes the part that was cut just now. */
  taken(step: Step, part: RulePart): void {
    step.part = part;
    for (const topic of this.common.writes) this.#bus.mark(topic, step.marker);
    if (!step.marker.isLast) this.#release(step, false);
    step.written = this.#write(step, part);
  }

  async #write(step: Step, part: RulePart): Promise<void> {
    const { signal } = step.abort;
    const { number } = step.marker;
    try {
      if (!(await part.prepare(signal)) || signal.aborted) return;
      await this.owner.files.name(number);
      this.#news({ what: 'there', number });
    } catch (error) {
      if (signal.aborted) return;
      step.reason = reasonOf(error);
      this.#news({ what: 'failed', number, reason: step.reason });
    }
  }

  #release({ marked }: Step, isDropped: boolean): void {
    for (const topic of marked) this.#bus.release(topic, isDropped);
  }

  /** The checkpoint counts, or comes to nothing. */
  async settle(outcome: Exclude<CommonStep, 'cut'>, number: number): Promise<void> {
    const step = this.#step;
    this.#over = Math.max(this.#over, number);
    if (step?.marker.number === number) {
      this.#step = undefined;
      this.#settling = outcome === 'keep' ? this.#keep(step) : this.#drop(step);
      await this.#settling;
    }
    const isLast = step?.marker.isLast === true;
    for (const call of [...this.#awaitFirst.splice(0), ...(isLast ? this.#awaitLast.splice(0) : [])]) call();
    this.#news({ what: 'settled', number });
  }

  async #keep({ part, marker }: Step): Promise<void> {
    if (marker.isLast) this.isLastKept = true;
    part?.count(undefined);
    await this.owner.files.tidy().catch((error: unknown) => {
      this.owner.log.warn(`older checkpoints can't be removed: ${reasonOf(error)}`);
    });
  }

  async #drop(step: Step): Promise<void> {
    step.abort.abort();
    this.#release(step, false);
    await step.written;
    await step.part?.fail(step.reason);
    await this.owner.files.remove(step.marker.number).catch((error: unknown) => {
      this.owner.log.warn(`a checkpoint that came to nothing can't be removed: ${reasonOf(error)}`);
    });
  }

  /** The rule ends: what waits for it is of no use, and comes again from the last checkpoint. */
  close(): void {
    if (this.#rule !== undefined) this.#members.delete(this.#rule.run);
    for (const call of this.#unlisten.splice(0)) call();
    for (const topic of this.common.reads) this.#bus.release(topic, true);
    for (const call of [...this.#awaitFirst.splice(0), ...this.#awaitLast.splice(0)]) call();
    this.#step?.abort.abort();
  }

  /** Resolves when nothing of it is written any more. A part that has its name stays: the others may have theirs. */
  async ended(): Promise<void> {
    const step = this.#step;
    this.#step = undefined;
    await Promise.all([this.#settling, step?.written]);
    await step?.part?.fail(undefined);
  }
}
