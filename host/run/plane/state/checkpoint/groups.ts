/**
 * Groups of rules whose checkpoints are taken at the same instant. They feed each other by topics, so that all sent
 * messages are in the state of one of them; or with `qos` 2 they share a stream that is read again from one place.
 */
import { feeds, type TopicUse } from '../../../../connectors/topic-use.js';
import { Marks } from './marks.js';

/** Links of a rule with others: topics, and streams that both read. */
export interface Joints {
  readonly use: TopicUse;
  /** Streams that the rule shares. */
  readonly shared: readonly object[];
}

export class Groups<M extends object> {
  readonly #joints = new Map<M, Joints>();
  /** Groups by member; undefined after a change, until they are asked for. */
  #groups: Map<M, readonly M[]> | undefined;
  readonly #marks = new Map<string, Marks>();
  /** Results for checkpoints of other rules that were looked at. */
  readonly #damaged = new Map<string, Promise<boolean>>();

  add(member: M, joints: Joints): void {
    const { use, shared } = joints;
    if (use.reads.length === 0 && use.writes.length === 0 && shared.length === 0) return;
    this.#joints.set(member, joints);
    this.#groups = undefined;
  }

  delete(member: M): void {
    if (this.#joints.delete(member)) this.#groups = undefined;
  }

  /** All members that are joined with one, itself included, in the order of their coming. */
  of(member: M): readonly M[] {
    if (!this.#joints.has(member)) return [member];
    this.#groups ??= this.#made();
    return this.#groups.get(member) ?? [member];
  }

  marks(root: string): Marks {
    let marks = this.#marks.get(root);
    if (marks === undefined) {
      marks = new Marks(root);
      this.#marks.set(root, marks);
    }
    return marks;
  }

  /** Whether the checkpoint is damaged, asked of `Marks` once. */
  isDamaged(root: string, name: { folder: string; epoch: number }): Promise<boolean> {
    const key = `${root} ${name.folder} ${name.epoch}`;
    let found = this.#damaged.get(key);
    if (found === undefined) {
      found = this.marks(root).isDamaged(name);
      this.#damaged.set(key, found);
    }
    return found;
  }

  #made(): Map<M, readonly M[]> {
    const all = [...this.#joints];
    const readers = all.filter(([, { use }]) => use.reads.length > 0);
    const near = new Map<M, Set<M>>(all.map(([member]) => [member, new Set()]));
    const join = (a: M, b: M) => {
      near.get(a)!.add(b);
      near.get(b)!.add(a);
    };
    for (const [writer, { use }] of all) {
      if (use.writes.length === 0) continue;
      for (const [reader, other] of readers) if (feeds(use, other.use)) join(writer, reader);
    }
    const firstOf = new Map<object, M>();
    for (const [member, { shared }] of all) {
      for (const stream of shared) {
        const first = firstOf.get(stream);
        if (first === undefined) firstOf.set(stream, member);
        else join(first, member);
      }
    }
    const groups = new Map<M, readonly M[]>();
    for (const [member] of all) {
      if (groups.has(member)) continue;
      const found = new Set([member]);
      // A set that grows is gone through to its end.
      for (const one of found) for (const other of near.get(one)!) found.add(other);
      const group = all.flatMap(([one]) => (found.has(one) ? [one] : []));
      for (const one of group) groups.set(one, group);
    }
    return groups;
  }
}
