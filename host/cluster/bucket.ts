/**
 * A bucket of NATS, read as a whole and written by revision: an entry is replaced only by who has seen its last
 * revision. Its form is that of the KV buckets of NATS, so that its own tools show it.
 */
import { type JsMsg, jetstreamManager } from '@nats-io/jetstream';
import { headers, type Msg, type MsgHdrs, nuid } from '@nats-io/transport-node';
import { reasonOf } from '../base/errors.js';
import { natsReason } from '../clients/nats/client.js';
import { isAway } from './away.js';
import { clusterErrors } from './errors.js';
import type { ClusterLink } from './link.js';
import { Watch } from './watch.js';

/** Refusals of the server: the last revision of the key is another one. */
const wrongRevision: ReadonlySet<number> = new Set([10_071, 10_164]);
/** Messages that the server takes as a whole. */
export const maxBatch = 1000;
/** Entries of a batch whose entries do not belong together. */
const eachBatch = 500;
const writeTimeoutMs = 5000;
const readTimeoutMs = 1000;

/** How a write has ended that was not done. */
export class WriteFailure extends Error {
  constructor(
    /** `changed`: another node was first; `away`: nothing was written; `unsure`: it is not known. */
    readonly kind: 'changed' | 'away' | 'refused' | 'unsure',
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

export interface BucketEntry {
  readonly key: string;
  readonly revision: number;
  /** Undefined: the entry is deleted or has expired. */
  readonly text: string | undefined;
}

export interface BucketWrite {
  readonly key: string;
  /** Undefined deletes. */
  readonly text: string | undefined;
  /** Last revision that was seen; 0: none. */
  readonly after: number;
}

export interface BucketOptions {
  readonly replicas: number;
}

export class Bucket {
  readonly #watches = new Set<Watch>();

  private constructor(
    private readonly link: ClusterLink,
    readonly name: string,
  ) {}

  /** Opens the bucket, which is made when it is not there; throws a `config` error. */
  static async open(link: ClusterLink, name: string, { replicas }: BucketOptions): Promise<Bucket> {
    try {
      const manager = await jetstreamManager(link.connection);
      const stream = `KV_${name}`;
      const known = await manager.streams.info(stream).catch(() => undefined);
      if (known === undefined) {
        await manager.streams.add({
          name: stream,
          subjects: [`$KV.${name}.>`],
          max_msgs_per_subject: 1,
          discard: 'new',
          allow_direct: true,
          allow_rollup_hdrs: true,
          allow_atomic: true,
          deny_delete: true,
          num_replicas: replicas,
        });
      }
    } catch (error) {
      throw (isAway(error) ? clusterErrors.noBucket : clusterErrors.bucket)(name, natsReason(error), { cause: error });
    }
    return new Bucket(link, name);
  }

  /** The stream that it is. */
  get stream(): string {
    return `KV_${this.name}`;
  }

  /** Writes one entry; resolves with its revision. Rejects with a WriteFailure. */
  write({ key, text, after }: BucketWrite, timeoutMs?: number): Promise<number> {
    const head = text === undefined ? deletion() : headers();
    head.set('Nats-Expected-Last-Subject-Sequence', String(after));
    return this.#publish(key, text, head, timeoutMs);
  }

  /** The entry as the leader of the bucket has it; revision 0: there was never one. Rejects with a WriteFailure. */
  async read(key: string): Promise<BucketEntry> {
    this.#checkThere();
    try {
      const manager = await jetstreamManager(this.link.connection, { checkAPI: false });
      const stored = await manager.streams.getMessage(this.stream, { last_by_subj: this.#subject(key) });
      if (stored === null) return { key, revision: 0, text: undefined };
      return { key, revision: stored.seq, text: isGone(stored.header) ? undefined : stored.string() };
    } catch (error) {
      throw new WriteFailure('away', natsReason(error), { cause: error });
    }
  }

  /** Writes all entries or none, `maxBatch` at most; resolves with the revision of the first, the others follow it. */
  async writeAll(writes: readonly BucketWrite[], timeoutMs?: number): Promise<number> {
    const last = writes.at(-1);
    if (last === undefined) return 0;
    if (writes.length === 1) return this.write(last, timeoutMs);
    this.#checkThere();
    const id = nuid.next();
    const heads = writes.map(({ text, after }, i) => {
      const head = text === undefined ? deletion() : headers();
      head.set('Nats-Batch-Id', id);
      head.set('Nats-Batch-Sequence', String(i + 1));
      head.set('Nats-Expected-Last-Subject-Sequence', String(after));
      return head;
    });
    for (const [i, { key, text = '' }] of writes.slice(0, -1).entries()) {
      this.link.connection.publish(this.#subject(key), text, { headers: heads[i]! });
    }
    const head = heads.at(-1)!;
    head.set('Nats-Batch-Commit', '1');
    return (await this.#publish(last.key, last.text, head, timeoutMs)) - writes.length + 1;
  }

  /**
   * Writes each entry that can be, whatever becomes of the others; resolves with their revisions, or why there is none,
   * in order. They go in batches, one after the other, as NATS takes few at once; one that is refused is split. What
   * `isDue` tells to be no more is counted as changed: that a batch was all written before, splitting it would tell in
   * a thousand questions.
   */
  async writeEach(
    writes: readonly BucketWrite[],
    timeoutMs?: number,
    isDue: (write: BucketWrite) => boolean = () => true,
    most = eachBatch,
  ): Promise<(number | WriteFailure)[]> {
    const ended = new Map<BucketWrite, number | WriteFailure>();
    for (let at = 0; at < writes.length; at += most) {
      const all = writes.slice(at, at + most);
      const some = all.filter(isDue);
      for (const write of all) ended.set(write, new WriteFailure('changed', 'it was changed meanwhile'));
      try {
        const first = await this.writeAll(some, timeoutMs);
        for (const [i, write] of some.entries()) ended.set(write, first + i);
      } catch (error) {
        if (!(error instanceof WriteFailure)) throw error;
        const canSplit = some.length > 1 && (error.kind === 'changed' || error.kind === 'refused');
        const half = Math.ceil(some.length / 2);
        const parts = canSplit ? await this.writeEach(some, timeoutMs, isDue, half) : some.map(() => error);
        for (const [i, write] of some.entries()) ended.set(write, parts[i]!);
      }
    }
    return writes.map((write) => ended.get(write)!);
  }

  /**
   * Calls for each entry that is there and then for each change, in order. Resolves when all that was there at first
   * was told.
   */
  async watch(take: (entry: BucketEntry) => void): Promise<void> {
    const { connection } = this.link;
    const watch = new Watch(connection, this.stream, this.#subject('>'), (message) => take(this.#entry(message)));
    this.#watches.add(watch);
    await watch.open();
  }

  /** Reads an entry from any server, perhaps an old one; undefined: there is none. Rejects with a WriteFailure. */
  async peek(key: string): Promise<BucketEntry | undefined> {
    this.#checkThere();
    const address = `$JS.API.DIRECT.GET.${this.stream}.${this.#subject(key)}`;
    let message: Msg;
    try {
      message = await this.link.request(address, '', { timeout: readTimeoutMs });
    } catch (error) {
      throw new WriteFailure('away', reasonOf(error), { cause: error });
    }
    const head = message.headers;
    if (head?.code === 404) return undefined;
    if (head === undefined || head.code !== 0) throw new WriteFailure('refused', head?.description ?? 'no head');
    const revision = Number(head.get('Nats-Sequence'));
    return { key, revision, text: isGone(head) ? undefined : message.string() };
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }

  async #publish(key: string, text: string | undefined, head: MsgHdrs, timeout = writeTimeoutMs): Promise<number> {
    this.#checkThere();
    let answer: Answer;
    try {
      const message = await this.link.request(this.#subject(key), text ?? '', { headers: head, timeout });
      answer = message.json<Answer>();
    } catch (error) {
      const reason = reasonOf(error);
      if (!/no responders/i.test(reason)) throw new WriteFailure('unsure', reason, { cause: error });
      throw new WriteFailure('away', 'no server of it keeps the bucket now', { cause: error });
    }
    const { error, seq } = answer;
    if (error === undefined && seq !== undefined) return seq;
    const { err_code: code = 0, description = 'no reason was given' } = error ?? {};
    throw new WriteFailure(wrongRevision.has(code) ? 'changed' : 'refused', description);
  }

  #entry({ subject, seq, headers: head, data }: JsMsg): BucketEntry {
    const key = subject.slice(this.#subject('').length);
    return { key, revision: seq, text: head && isGone(head) ? undefined : Buffer.from(data).toString() };
  }

  #subject(key: string): string {
    return `$KV.${this.name}.${key}`;
  }

  #checkThere(): void {
    // The client would keep the message and send it later, when nobody counts on it any more.
    if (this.link.away !== undefined) throw new WriteFailure('away', this.link.away);
  }
}

interface Answer {
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

function isGone(head: MsgHdrs): boolean {
  return head.has('KV-Operation') || head.has('Nats-Marker-Reason');
}

function deletion(): MsgHdrs {
  const head = headers();
  head.set('KV-Operation', 'DEL');
  return head;
}
