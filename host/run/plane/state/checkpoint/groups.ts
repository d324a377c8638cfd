/**
 * Which rules' checkpoints are taken at the same instant: those that feed each other by topics, so that what one has
 * sent the other has; and with `qos` 2 those that share a stream which is read again from one place.
 */
import { feeds, type TopicUse } from '../../../../connectors/topic-use.js';
import { Marks } from './marks.js';

/** Links of a rule with others: topics, and streams that both read. */
export interface Joints {
  readonly use: TopicUse;
  /** Streams that it shares. */
  readonly shared: readonly object[];
}

export class Groups<M extends object> {
  readonly #joints = new Map<M, Joints>();
  /** Made when it is asked for after a change. */
  #groups: Map<M, readonly M[]> | undefined;
  readonly #marks = new Map<string, Marks>();
  /** Checkpoints of other rules that were looked at. */
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

  /** All that are joined with one, itself included, in the order of their coming. */
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

  /** As of `Marks`, each once. */
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
