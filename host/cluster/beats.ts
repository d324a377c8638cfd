/**
 * Signs of life: each node writes its beat several times in the time of its lease, in one bucket or in two whose
 * leaders are different servers of NATS. While one server is away and NATS elects another leader, the other bucket
 * goes on.
 *
 * A session ends for others when each bucket has its end, written by who has seen no beat for the time of the lease, by
 * the revision that he has seen. The node never writes a beat of a session over its end, so it has no lease any more.
 */
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { encodeName } from './keys.js';
import { parsed } from './lease-view.js';

/** The last beat of a node in a bucket. */
export interface Beat {
  readonly revision: number;
  /** Undefined: the node never wrote one there. */
  readonly session: string | undefined;
  /** The session has ended. */
  readonly isEnd: boolean;
}

const beatKey = (node: string): string => `beat.${encodeName(node)}`;

export async function readBeat(bucket: Bucket, node: string): Promise<Beat> {
  const entry = await bucket.peek(beatKey(node));
  const { session, isEnd = false } = parsed<Partial<Beat>>(entry?.text) ?? {};
  return { revision: entry?.revision ?? 0, session, isEnd };
}

/** Writes that the session has ended; rejects when there was another beat meanwhile. */
export function writeEnd(bucket: Bucket, node: string, session: string, after: number): Promise<number> {
  return bucket.write({ key: beatKey(node), text: JSON.stringify({ session, isEnd: true }), after });
}

/** The beat of this node in one bucket. */
export class OwnBeat {
  #revision = 0;
  #isWriting = false;
  #isTaken = false;
  /** Sessions of this process that have ended. */
  readonly #former = new Set<string>();
  /** Session whose end another node has written here. */
  #ended = '';

  constructor(
    private readonly bucket: Bucket,
    private readonly node: string,
    private readonly now: () => number,
  ) {}

  hasEnd(session: string): boolean {
    return this.#ended === session;
  }

  /** Whether another process has the name of this node. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Begins a session; resolves with the time of the request when NATS has taken it. */
  async open(session: string, timeoutMs: number): Promise<number | undefined> {
    try {
      const beat = await readBeat(this.bucket, this.node);
      // A session of another process is over when others say so.
      this.#isTaken = beat.session !== undefined && !beat.isEnd && !this.#former.has(beat.session);
      if (this.#isTaken) return undefined;
      this.#revision = beat.revision;
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
      return undefined;
    }
    return this.renew(session, timeoutMs);
  }

  /** Goes on with a session; resolves with the time of the request when NATS has taken it. */
  async renew(session: string, timeoutMs: number): Promise<number | undefined> {
    if (this.#isWriting || this.#ended === session) return undefined;
    this.#isWriting = true;
    this.#former.add(session);
    try {
      return await this.#write(session, timeoutMs, true);
    } finally {
      this.#isWriting = false;
    }
  }

  async #write(session: string, timeoutMs: number, isFirst: boolean): Promise<number | undefined> {
    const asked = this.now();
    try {
      const write = { key: beatKey(this.node), text: JSON.stringify({ session }), after: this.#revision };
      this.#revision = await this.bucket.write(write, timeoutMs);
      return asked;
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
      // The answer to one before was lost: its revision is the one to write after.
      const isBehind = error.kind === 'changed' && (await this.#learn(session));
      return isBehind && isFirst ? this.#write(session, timeoutMs, false) : undefined;
    }
  }

  /** Says that the session is over, so that a process of the same name need not wait. */
  async end(session: string): Promise<void> {
    await writeEnd(this.bucket, this.node, session, this.#revision).catch(() => {});
  }

  /** Why a beat was refused: the answer to one before was lost, or the session has its end. Returns if it may go on. */
  async #learn(session: string): Promise<boolean> {
    const beat = await readBeat(this.bucket, this.node).catch(() => undefined);
    if (beat === undefined) return false;
    if (beat.session === session && beat.isEnd) {
      this.#ended = session;
      return false;
    }
    const isOwn = beat.session === undefined || beat.isEnd || this.#former.has(beat.session);
    const isNew = isOwn && beat.revision > this.#revision;
    if (isOwn) this.#revision = beat.revision;
    return isNew;
  }
}
