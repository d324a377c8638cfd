/**
 * Checkpoints of rules in NATS. The files that a data plane has written are brought to the object store, those alone
 * that are not there yet; then the entry of the rule names them all, and from that moment on the checkpoint counts. The
 * entry is written by the revision that this node has seen, and has the revision of its lease: a node that has lost the
 * lease is refused, however late its writing comes.
 */
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nuid } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import type { KeptState, RuleFolder, ShareOrder, RuleStates as States } from '../../run/link/shared-states.js';
import { type Bucket, maxBatch, WriteFailure } from '../bucket.js';
import { clusterErrors } from '../errors.js';
import { encodeName } from '../keys.js';
import { fetchFiles } from './fetched.js';
import { digestOf, type KeptFile, type Manifest, manifestOf, objectsOf } from './manifest.js';
import type { ObjectStore } from './objects.js';

/** Bytes of a checkpoint up to which it stands in the entry: no object is written, and none removed. */
const mostInEntry = 64 * 1024;
/** Times that a refused writing is tried upon what was written meanwhile. */
const writeTries = 4;
/** Time for which NATS may be away before a rule that starts gives up, and between two attempts, ms. */
const patienceMs = 15_000;
const pauseMs = 250;

/** The lease of a rule. */
export interface Lease {
  readonly node: string;
  readonly revision: number;
}

export interface RuleStatesOptions {
  readonly bucket: Bucket;
  readonly objects: ObjectStore;
  /** The lease that this node has of the rule; undefined when it has none. */
  readonly leaseOf: (rule: string) => Lease | undefined;
  /** Revision of the last lease of the rule, whoever had it. */
  readonly lastLeaseOf: (rule: string) => number;
  readonly log: Logger;
}

interface Known {
  readonly revision: number;
  readonly manifest: Manifest | undefined;
}

export class RuleStates implements States {
  /** What this node has read or written last, of the rules that it runs. */
  readonly #known = new Map<string, Known>();
  /** Work under way, by rule: one thing after the other. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(private readonly options: RuleStatesOptions) {}

  carryOut(order: ShareOrder): Promise<void> {
    if (order.what === 'fetch') return this.#inTurn([order.state.rule], () => this.#fetch(order.state));
    if (order.what === 'forget') return this.#inTurn([order.state.rule], () => this.#clear(order.state.rule));
    const rules = order.states.map(({ rule }) => rule);
    return this.#inTurn(rules, () => this.#keep(order.states));
  }

  async remove(rule: string): Promise<void> {
    try {
      await this.#inTurn([rule], () => this.#clear(rule));
    } catch (error) {
      this.options.log.error(`the state of rule ${rule} could not be removed from NATS: ${reasonOf(error)}`);
    }
  }

  /** Whether a node has ever kept the state of the rule here. */
  async isThere(rule: string): Promise<boolean> {
    return (await this.#read(rule)).revision > 0;
  }

  /** Runs a step when those before it of the same rules have ended. */
  async #inTurn(rules: readonly string[], step: () => Promise<void>): Promise<void> {
    const before = rules.flatMap((rule) => this.#turns.get(rule) ?? []);
    const turn = Promise.allSettled(before).then(step);
    for (const rule of rules) this.#turns.set(rule, turn);
    try {
      await turn;
    } finally {
      for (const rule of rules) if (this.#turns.get(rule) === turn) this.#turns.delete(rule);
    }
  }

  async #fetch({ rule, folder }: RuleFolder): Promise<void> {
    const end = performance.now() + patienceMs;
    for (;;) {
      try {
        const files = await this.#claim(rule);
        // Of a rule that has never been here only this machine may know something.
        if (files !== undefined) await fetchFiles(folder, files, this.options.objects);
        return;
      } catch (error) {
        const isAway = error instanceof WriteFailure && error.kind !== 'refused';
        if (!isAway || performance.now() > end) throw clusterErrors.notFetched(rule, reasonOf(error), { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /**
   * From now on nobody writes who had the lease before. Resolves with the files of the last checkpoint; undefined when
   * nobody has ever claimed it.
   */
  async #claim(rule: string): Promise<readonly KeptFile[] | undefined> {
    const { bucket, objects } = this.options;
    for (;;) {
      const lease = this.#leaseOf(rule);
      const { revision, manifest } = await this.#read(rule, lease);
      if (manifest?.lease === lease.revision && revision === this.#known.get(rule)?.revision) {
        return manifest.files;
      }
      const claimed: Manifest = { files: [], ...manifest, lease: lease.revision, node: lease.node, id: nuid.next() };
      try {
        const write = { key: keyOf(rule), text: JSON.stringify(claimed), after: revision };
        this.#note(rule, await bucket.write(write), claimed);
      } catch (error) {
        if (error instanceof WriteFailure && error.kind === 'changed') continue;
        throw error;
      }
      const needed = new Set(objectsOf(claimed));
      // What a node has left that was killed while it wrote.
      const left = await objects.list(encodeName(rule)).catch(() => []);
      void objects.remove(left.filter((object) => !needed.has(object)));
      return revision === 0 ? undefined : claimed.files;
    }
  }

  async #keep(states: readonly KeptState[]): Promise<void> {
    const rules = states.map(({ rule }) => rule);
    const made = new Map<string, KeptFile>();
    const former = rules.flatMap((rule) => objectsOf(this.#known.get(rule)?.manifest));
    /** NATS may have taken a writing all the same, which names objects of this one. */
    let isUnsure = false;
    try {
      for (let i = 0; ; i++) {
        const next: Manifest[] = [];
        for (const state of states) next.push(await this.#manifest(state, made));
        try {
          await this.#write(rules, next);
          isUnsure = false;
          break;
        } catch (error) {
          isUnsure ||= error instanceof WriteFailure && error.kind === 'unsure';
          if (!(error instanceof WriteFailure) || i + 1 === writeTries) throw error;
          if (await this.#isWritten(rules, next, error)) {
            isUnsure = false;
            break;
          }
        }
      }
    } catch (error) {
      throw clusterErrors.noStates(rules.join(', '), reasonOf(error), { cause: error });
    } finally {
      const needed = new Set(rules.flatMap((rule) => objectsOf(this.#known.get(rule)?.manifest)));
      // Who claims the rule next removes what nobody needs.
      const written = isUnsure ? [] : [...made.values()];
      const left = [...former, ...written.flatMap(({ object }) => object ?? [])];
      void this.options.objects.remove(left.filter((object) => !needed.has(object)));
    }
  }

  /** Writes entries. Those of up to a thousand rules count together; no more rules than that feed each other. */
  async #write(rules: readonly string[], next: readonly Manifest[]): Promise<void> {
    const writes = next.map((manifest, i) => {
      const rule = rules[i]!;
      return { key: keyOf(rule), text: JSON.stringify(manifest), after: this.#known.get(rule)?.revision ?? 0 };
    });
    for (let at = 0; at < writes.length; at += maxBatch) {
      const first = await this.options.bucket.writeAll(writes.slice(at, at + maxBatch));
      for (const [i, manifest] of next.slice(at, at + maxBatch).entries()) {
        this.#note(rules[at + i]!, first + i, manifest);
      }
    }
  }

  /**
   * What is there after a writing that was refused, or whose outcome is not known: whether it is there all the same.
   * Throws when another node has the lease.
   */
  async #isWritten(rules: readonly string[], next: readonly Manifest[], failure: WriteFailure): Promise<boolean> {
    if (failure.kind === 'refused' || failure.kind === 'away') throw failure;
    let count = 0;
    for (const [i, rule] of rules.entries()) {
      const { revision, manifest } = await this.#read(rule, this.#leaseOf(rule));
      this.#note(rule, revision, manifest);
      if (manifest?.id === next[i]!.id) count++;
    }
    return count === rules.length;
  }

  /** The entry for a checkpoint; its files are in the object store then. */
  async #manifest({ rule, folder, files }: KeptState, made: Map<string, KeptFile>): Promise<Manifest> {
    const lease = this.#leaseOf(rule);
    const known = new Map((this.#known.get(rule)?.manifest?.files ?? []).map((file) => [file.name, file]));
    const kept: KeptFile[] = [];
    let left = mostInEntry;
    for (const { name, file } of files) {
      const path = join(folder, file);
      const { size } = await stat(path);
      // A file of that name is never written twice, but for one that has not its name yet.
      const there = made.get(path) ?? (name === file ? known.get(name) : undefined);
      if (there?.object !== undefined && there.bytes === size) kept.push(there);
      else if (size <= left) {
        const bytes = await readFile(path);
        kept.push({ name, bytes: size, digest: digestOf(bytes), data: bytes.toString('base64') });
        left -= size;
      } else {
        const { object, bytes, digest } = await this.options.objects.put(
          encodeName(rule),
          name.replace('.', '-'),
          createReadStream(path, { highWaterMark: 1 << 20 }),
        );
        made.set(path, { name, bytes, digest, object });
        kept.push({ name, bytes, digest, object });
      }
    }
    return { lease: lease.revision, node: lease.node, id: nuid.next(), files: kept };
  }

  async #clear(rule: string): Promise<void> {
    const { bucket, objects, leaseOf, lastLeaseOf } = this.options;
    for (;;) {
      const { revision, manifest } = await this.#read(rule);
      if (manifest === undefined) return;
      const lease = leaseOf(rule);
      // A rule of that id that was made later is another one's.
      if (lease === undefined && manifest.lease > lastLeaseOf(rule)) return;
      const empty = lease && { lease: lease.revision, node: lease.node, id: nuid.next(), files: [] };
      try {
        const write = { key: keyOf(rule), text: empty && JSON.stringify(empty), after: revision };
        this.#note(rule, await bucket.write(write), empty);
        if (lease === undefined) this.#known.delete(rule);
        void objects.remove(objectsOf(manifest));
        return;
      } catch (error) {
        if (!(error instanceof WriteFailure) || error.kind !== 'changed') throw error;
      }
    }
  }

  /** The entry of a rule; throws when it belongs to a later lease than that of this node. */
  async #read(rule: string, lease?: Lease): Promise<Known> {
    const { revision, text } = await this.options.bucket.read(keyOf(rule));
    const manifest = manifestOf(text);
    if (manifest === undefined && text !== undefined) throw new Error(`the entry of rule ${rule} there is damaged`);
    if (lease !== undefined && manifest !== undefined && manifest.lease > lease.revision) {
      throw new Error(`node ${manifest.node} has had the lease of the rule since`);
    }
    return { revision, manifest };
  }

  #leaseOf(rule: string): Lease {
    const lease = this.options.leaseOf(rule);
    if (lease === undefined) throw clusterErrors.noLease(rule);
    return lease;
  }

  /** What stands in the entry itself is not kept in memory. */
  #note(rule: string, revision: number, manifest: Manifest | undefined): void {
    const files = manifest?.files.map(({ data: _data, ...file }) => file);
    this.#known.set(rule, { revision, manifest: manifest && { ...manifest, files: files ?? [] } });
  }
}

function keyOf(rule: string): string {
  return encodeName(rule);
}
