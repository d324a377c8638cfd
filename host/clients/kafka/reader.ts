/**
 * Reads partitions, all of one broker by one request at a time. While what was read is worked on, the next request is
 * on its way; while the sinks are full there is none.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionPool } from '@platformatic/kafka';
import { reasonOf } from '../../base/errors.js';
import { type Batch, offsetBehind, readBatches } from './batches.js';
import type { KafkaClient } from './client.js';
import { type Fetched, fetchAnswer, fetchRequest } from './fetch.js';
import { edgeOf } from './offsets.js';
import { codeReason, codes, isTransient } from './reasons.js';

/** A partition that is read. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the next record that is asked for, and of the next that is given on. */
  next: number;
  position: number;
  /** Offset that nothing is given on from. */
  limit: number;
}

export interface ReaderConf {
  readonly maxBytes: number;
  readonly maxAttempts: number;
  readonly isolation: 0 | 1;
}

export interface ReaderOwner {
  /** Takes a batch: of its records those from `place.position` on and before `place.limit`. */
  take(place: Place, batch: Batch): void;
  /** The place stands behind what was taken. */
  written(): void;
  readonly isFull: boolean;
  /** Resolves when more is wanted. */
  ready(): Promise<void>;
  exception(reason: string): void;
  lost(reason: string): void;
}

const pauseMs = 100;

export class PartitionReader {
  places: readonly Place[] = [];
  /** Number of the present reading: loops of earlier ones end. */
  #round = 0;
  readonly #pool: ConnectionPool;

  constructor(
    readonly client: KafkaClient,
    readonly conf: ReaderConf,
    readonly owner: ReaderOwner,
  ) {
    this.#pool = client.newPool();
  }

  /** Reads these partitions from now on, each from its position. */
  read(places: readonly Place[]): void {
    this.#round++;
    this.places = places;
    for (const place of places) place.next = place.position;
    void this.#start(this.#round, 0);
  }

  stop(): void {
    this.#round++;
  }

  close(): void {
    this.stop();
    this.client.endPool(this.#pool);
  }

  /** Begins a loop for each broker; with `attempt` tells how often that was in vain. */
  async #start(round: number, attempt: number): Promise<void> {
    const byNode = new Map<number, Place[]>();
    try {
      for (const place of this.places) {
        const { leaders } = await this.client.topic(place.topic, true);
        const node = leaders[place.partition] ?? -1;
        byNode.set(node, [...(byNode.get(node) ?? []), place]);
      }
    } catch (error) {
      if (round === this.#round) this.#lose(reasonOf(error));
      return;
    }
    if (round !== this.#round) return;
    if (byNode.has(-1)) return this.#restart(round, attempt, 'a partition has no leader now');
    for (const [node, places] of byNode) {
      this.#loop(round, node, places, attempt).catch((error: unknown) => {
        if (round === this.#round) this.#lose(reasonOf(error));
      });
    }
    return undefined;
  }

  async #restart(round: number, attempt: number, reason: string): Promise<void> {
    if (round !== this.#round) return;
    if (attempt + 1 >= this.conf.maxAttempts) return this.#lose(reason);
    const next = ++this.#round;
    for (const { topic } of this.places) this.client.forget(topic);
    await pause(pauseMs * (attempt + 1));
    if (next !== this.#round) return;
    for (const place of this.places) place.next = place.position;
    await this.#start(next, attempt + 1);
  }

  #lose(reason: string): void {
    this.#round++;
    for (const { topic } of this.places) this.client.forget(topic);
    this.owner.lost(reason);
  }

  async #loop(round: number, node: number, places: readonly Place[], attempt: number): Promise<void> {
    let failures = attempt;
    let asked: Promise<Fetched[]> | undefined;
    for (;;) {
      if (this.owner.isFull) await this.owner.ready();
      // Where a limit is reached the reading begins anew when it is lifted.
      if (round !== this.#round || !places.some(isWanted)) return;
      const answer = await (asked ?? this.#ask(node, places));
      if (round !== this.#round) return;
      const read: [Place, Fetched][] = [];
      for (const one of answer) {
        const place = places.find(({ topic, partition }) => topic === one.topic && partition === one.partition);
        if (place === undefined) continue;
        if (isTransient(one.code)) return this.#restart(round, failures, codeReason(one.code));
        if (one.code === codes.offsetOutOfRange) await this.#return(place);
        else if (one.code !== 0) throw new Error(codeReason(one.code));
        else read.push([place, one]);
      }
      failures = 0;
      for (const [place, { records }] of read) place.next = Math.min(place.limit, offsetBehind(records) ?? place.next);
      asked = this.owner.isFull || !places.some(isWanted) ? undefined : this.#ask(node, places);
      // Its failure counts when it is waited for.
      asked?.catch(() => {});
      for (const [place, one] of read) this.#take(place, one);
    }
  }

  async #ask(node: number, places: readonly Place[]): Promise<Fetched[]> {
    const { maxBytes, isolation } = this.conf;
    const wanted = places.filter(isWanted).map(({ topic, partition, next: offset }) => ({ topic, partition, offset }));
    return fetchAnswer(await this.client.send(node, fetchRequest(wanted, maxBytes, isolation), this.#pool));
  }

  #take(place: Place, { records, aborted }: Fetched): void {
    readBatches(
      records,
      aborted,
      (batch) => this.owner.take(place, batch),
      (reason, offset) =>
        this.owner.exception(`${place.topic}/${place.partition}: records from offset ${offset} on: ${reason}`),
    );
    place.position = Math.max(place.position, Math.min(place.limit, offsetBehind(records) ?? 0));
    this.owner.written();
  }

  /** The records at the place are gone, or not there yet: goes to the nearest that are. */
  async #return(place: Place): Promise<void> {
    const { topic, partition, position } = place;
    const begin = await edgeOf(this.client, place, 'begin', this.conf.isolation);
    const end = await edgeOf(this.client, place, 'end', this.conf.isolation);
    const next = position < begin ? begin : end;
    place.position = next;
    place.next = next;
    this.owner.exception(`${topic}/${partition}: offset ${position} is gone, reading goes on at ${next}`);
  }
}

function isWanted({ next, limit }: Place): boolean {
  return next < limit;
}
