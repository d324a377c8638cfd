/**
 * Rules that share a source go on from checkpoints of different times. The source is read again from the earliest of
 * their places; the nodes of a rule whose place lies ahead stand below a copy of the stream, which reads nothing, and
 * come back when the source is there. So each rule takes what lies behind its own place, and nothing twice; until then
 * its checkpoints name the place that it had.
 */
import type { StreamHandle } from '../../../../../kernels/api.js';
import { KernelError } from '../../../../../kernels/memory/error.js';
import { moveNodes, nodesBelow, shareFromNow } from '../../../../../kernels/streams/copy.js';
import { reasonOf } from '../../../../base/errors.js';
import type { FedSource } from '../../feed/fed-source.js';
import { openSourceStream } from '../../feed/feed-stream.js';
import type { RunningRule } from '../../running/running.js';

export class Places {
  /** Places of the rules that the source has not reached yet. */
  readonly #of = new Map<RunningRule, unknown>();
  /** Rules that take nothing until the source is at their places. */
  readonly #ahead = new Set<RunningRule>();
  /** Places that come from checkpoints of an earlier run. */
  readonly #given = new WeakSet<object>();
  /** Copy of the stream that reads nothing, for the nodes of rules ahead. */
  #twin: StreamHandle | undefined;

  constructor(private readonly source: FedSource) {}

  get ahead(): ReadonlySet<RunningRule> {
    return this.#ahead;
  }

  /** All rules whose places the source has not reached yet. */
  get rules(): Iterable<RunningRule> {
    return this.#of.keys();
  }

  set(rule: RunningRule, place: unknown): void {
    this.#of.set(rule, place);
    if (typeof place === 'object' && place !== null) this.#given.add(place);
  }

  has(rule: RunningRule): boolean {
    return this.#of.has(rule);
  }

  /** Place of the rule; undefined when the source has reached it, or when it is not known. */
  of(rule: RunningRule): unknown {
    return this.#of.get(rule);
  }

  /** Whether the place is one of an earlier run. */
  isGiven(place: unknown): boolean {
    return typeof place === 'object' && place !== null && this.#given.has(place);
  }

  /** The given rules without those that wait for their places. */
  amongHere(rules: ReadonlySet<RunningRule>): ReadonlySet<RunningRule> {
    if (this.#ahead.size === 0) return rules;
    return new Set([...rules].filter((rule) => !this.#ahead.has(rule)));
  }

  /** Lets the rules take nothing until the source reaches their places; false without memory for that. */
  wait(rules: readonly RunningRule[]): boolean {
    if (rules.length === 0) return true;
    const { source } = this;
    const { kernel } = source.host;
    try {
      this.#twin ??= openSourceStream(kernel, source.form, source.spec);
    } catch (error) {
      if (!(error instanceof KernelError) || error.isFatal) throw error;
      source.log.warn(
        `stream ${source.name} has rules at several places, and can't keep them apart: ${reasonOf(error)}`,
      );
      return false;
    }
    this.#move(rules, source.stream, this.#twin, false);
    for (const rule of rules) this.#ahead.add(rule);
    return true;
  }

  /** Notes that the input of the source waits for the rule in a branch. */
  setElsewhere(rule: RunningRule): void {
    this.#of.delete(rule);
    this.#ahead.add(rule);
  }

  /** Lets the rules take input, since the source has reached their places. */
  reached(rules: readonly RunningRule[]): void {
    const ahead = rules.filter((rule) => this.#ahead.delete(rule));
    for (const rule of rules) this.#of.delete(rule);
    if (ahead.length === 0 || this.#twin === undefined) return;
    const { source } = this;
    this.#move(ahead, this.#twin, source.stream, true);
    for (const rule of ahead) rule.cameTo(source);
    this.#tidy();
  }

  /** Lets new rules share the nodes of rules that are at the source's position. */
  share(rules: Iterable<RunningRule>): void {
    for (const rule of rules) {
      if (!this.#ahead.has(rule))
        shareFromNow(
          this.source.host.kernel,
          rule.nodes.map(({ handle }) => handle),
        );
    }
  }

  /** Forgets a rule that has gone together with its nodes. */
  leave(rule: RunningRule): void {
    this.#of.delete(rule);
    this.#ahead.delete(rule);
    this.#tidy();
  }

  close(): void {
    this.#of.clear();
    this.#ahead.clear();
    this.#tidy();
  }

  #move(rules: readonly RunningRule[], from: StreamHandle, to: StreamHandle, isShared: boolean): void {
    const { kernel } = this.source.host;
    const nodes = new Set(rules.flatMap((rule) => rule.nodes.map(({ handle }) => handle)));
    const hosts = new Set(rules.map(({ run }) => run));
    moveNodes(kernel, nodesBelow(kernel, from, nodes, hosts), from, to, isShared);
  }

  #tidy(): void {
    if (this.#ahead.size > 0 || this.#twin === undefined) return;
    this.source.host.kernel.closeStream(this.#twin);
    this.#twin = undefined;
  }
}
