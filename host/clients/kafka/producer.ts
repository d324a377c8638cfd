/**
 * Gathers messages in batches and gives them to the brokers. Each broker has one request at a time, so that the order
 * within a partition stays; what comes meanwhile is the next batch. A batch that a broker does not have when the
 * connection breaks is sent again, before all others.
 */
import { reasonOf } from '../../base/errors.js';
import { BatchBuilder, type Numbering, type Record } from './batch-builder.js';
import type { KafkaClient, Topic } from './client.js';
import type { CodecName } from './codecs.js';
import { kafkaErrors } from './errors.js';
import { partitionOf } from './murmur2.js';
import { type Acknowledged, produceAnswer, produceRequest } from './produce.js';
import { codeOf, codeReason, codes, isFenced, isRefusal, isTransient } from './reasons.js';

export interface ProducerConf {
  readonly requiredACKs: number;
  readonly maxAttempts: number;
  readonly batchSize: number;
  readonly lingerInterval: number;
  readonly batchBytes: number;
  readonly codec: CodecName;
}

export interface ProducerOwner {
  accepted(bytes: number, messages: number): void;
  /** A message, a view, is refused for good. */
  refused(message: Uint8Array, bytes: number, messages: number, reason: string): void;
  /** The connection is lost, or the cluster does not take what it gets; `open` goes on with all that is left. */
  lost(reason: string): void;
  /** The transaction can't go on. */
  fenced?(reason: string): void;
}

/** The transaction that all batches are in. */
export interface Transacted {
  readonly id: string;
  /** Who writes: the same until the end of the transaction. */
  readonly identity: { readonly id: number; readonly epoch: number };
  /** Puts the partitions into the transaction, unless they are. */
  join(partitions: readonly (readonly [topic: string, partition: number])[]): Promise<void>;
}

/** A message that waits for the partitions of its topic. */
interface Early extends Record {
  readonly credit: number;
}

/** Largest request, bytes; one batch always fits. */
const requestBytes = 4 << 20;
const firstRoom = 16 << 10;
const pauseMs = 100;

/** Another producer has taken over the transaction, or it is gone. */
class FencedError extends Error {}

class Partition {
  /** Batches in order; messages are written into the last one. */
  batches: BatchBuilder[] = [];
  /** The first batch is on its way. */
  isSent = false;
  sequence = 0;

  constructor(
    readonly topic: string,
    readonly index: number,
  ) {}
}

class TopicQueue {
  early: Early[] = [];
  partitions: Partition[] = [];
  /** Partition of messages without a key, until its batch is full. */
  sticky = 0;
  isFinding = false;

  constructor(readonly name: string) {}
}

export class Producer {
  readonly #topics = new Map<string, TopicQueue>();
  /** Nodes with a request under way. */
  readonly #busy = new Set<number>();
  #isOpen = false;
  /** Number of this connection: answers of earlier ones count no more. */
  #round = 0;
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #onIdle: (() => void)[] = [];
  #waiting = 0;

  constructor(
    public client: KafkaClient,
    readonly conf: ProducerConf,
    readonly owner: ProducerOwner,
    readonly transacted: Transacted | null = null,
  ) {}

  /** Sends from now on, what was left by the last connection first. */
  open(client: KafkaClient): void {
    this.client = client;
    this.#isOpen = true;
    this.#schedule();
  }

  /** Messages that no broker has acknowledged. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a message, and copies it; `credit` in bytes goes back when the broker has it. */
  add(topic: string, record: Record, credit: number): void {
    const { batchBytes } = this.conf;
    const size = record.value.length + (record.key?.length ?? 0) + record.headers.length;
    if (size > batchBytes) {
      const reason = `a message of ${size} bytes is larger than batchBytes, ${batchBytes}`;
      this.owner.refused(record.value, credit, 1, reason);
      return;
    }
    this.#waiting++;
    let queue = this.#topics.get(topic);
    if (queue === undefined) {
      queue = new TopicQueue(topic);
      this.#topics.set(topic, queue);
    }
    const known = this.client.known(topic);
    if (known === undefined || queue.early.length > 0) {
      const { key, headers, value } = record;
      queue.early.push({ key: key && Buffer.from(key), headers, value: Buffer.from(value), credit });
    } else {
      this.#place(queue, known, record, credit, Date.now());
    }
    this.#schedule();
  }

  /** Resolves when the brokers have all messages so far. */
  flush(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    this.#schedule();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Numbers batches from 0 on, for another producer. */
  renumber(): void {
    for (const { partitions } of this.#topics.values()) for (const one of partitions) one.sequence = 0;
  }

  close(): void {
    this.stop();
    this.#onIdle = [];
  }

  /** Sends nothing until `open`. */
  stop(): void {
    this.#isOpen = false;
    this.#round++;
    this.#busy.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { partitions } of this.#topics.values()) for (const one of partitions) one.isSent = false;
  }

  #place(queue: TopicQueue, { leaders }: Topic, record: Record, credit: number, now: number): void {
    while (queue.partitions.length < leaders.length) {
      queue.partitions.push(new Partition(queue.name, queue.partitions.length));
    }
    const { length } = queue.partitions;
    const index = record.key === null ? queue.sticky % length : partitionOf(record.key, length);
    const partition = queue.partitions[index]!;
    let batch = partition.batches.at(-1);
    const size = record.value.length + (record.key?.length ?? 0) + record.headers.length;
    const isFull = batch !== undefined && batch.sizeBytes + size > this.conf.batchBytes;
    if (batch === undefined || batch.isClosed || isFull) {
      batch = new BatchBuilder(Math.max(firstRoom, Math.min(size, this.conf.batchBytes)));
      partition.batches.push(batch);
      if (isFull) queue.sticky++;
    }
    batch.add(record, now, credit);
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#isOpen) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (!this.#isOpen) return;
    for (const queue of this.#topics.values()) if (queue.early.length > 0) void this.#find(queue);
    const byNode = new Map<number, Partition[]>();
    let soonest = Number.POSITIVE_INFINITY;
    for (const queue of this.#topics.values()) {
      const leaders = this.client.known(queue.name)?.leaders;
      for (const partition of queue.partitions) {
        const batch = partition.batches[0];
        if (batch === undefined || partition.isSent) continue;
        if (leaders === undefined) {
          void this.#find(queue);
          break;
        }
        const dueAt = this.#dueAt(partition, batch);
        if (dueAt > 0) soonest = Math.min(soonest, dueAt);
        else pushTo(byNode, leaders[partition.index] ?? -1, partition);
      }
    }
    if (soonest < Number.POSITIVE_INFINITY) this.#later(soonest);
    for (const [node, partitions] of byNode) if (!this.#busy.has(node)) void this.#produce(node, partitions);
  }

  /** When a batch that still gathers is to be sent, ms from now; 0 now. */
  #dueAt(partition: Partition, batch: BatchBuilder): number {
    const { lingerInterval, batchSize } = this.conf;
    if (lingerInterval <= 0 || this.#onIdle.length > 0 || partition.batches.length > 1) return 0;
    if (batch.attempts > 0 || (batchSize > 1 && batch.count >= batchSize)) return 0;
    return Math.max(0, batch.madeAt + lingerInterval - Date.now());
  }

  #later(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#schedule();
    }, ms).unref();
  }

  /** Finds the partitions of a topic, and gives them the messages that wait for it. */
  async #find(queue: TopicQueue): Promise<void> {
    if (queue.isFinding) return;
    queue.isFinding = true;
    const round = this.#round;
    try {
      const topic = await this.client.topic(queue.name, true);
      const now = Date.now();
      for (const { credit, ...record } of queue.early.splice(0)) this.#place(queue, topic, record, credit, now);
    } catch (error) {
      if (round === this.#round) this.#unfound(queue, error);
    } finally {
      queue.isFinding = false;
    }
    this.#schedule();
  }

  #unfound(queue: TopicQueue, error: unknown): void {
    const code = codeOf(error);
    if (code === undefined || (isTransient(code) && code !== codes.unknownTopic)) {
      this.#lose(reasonOf(error));
      return;
    }
    const reason = reasonOf(error);
    for (const { value, credit } of queue.early.splice(0)) {
      this.owner.refused(value, credit, 1, reason);
      this.#less(1);
    }
    for (const { batches } of queue.partitions) for (const batch of batches.splice(0)) this.#refuse(batch, reason);
  }

  async #produce(node: number, partitions: readonly Partition[]): Promise<void> {
    const round = this.#round;
    this.#busy.add(node);
    const sent = this.#chosen(partitions);
    for (const partition of sent) partition.isSent = true;
    try {
      if (node < 0) throw kafkaErrors.connection(`topic ${sent[0]!.topic} has no leader now`);
      const answers = await this.#request(node, sent);
      if (round !== this.#round) return;
      this.#busy.delete(node);
      const verdicts = sent.map((partition) => this.#settle(partition, answers));
      const bad = verdicts.find((verdict) => verdict !== 'done' && verdict !== 'again');
      if (bad !== undefined) throw bad;
      const later = sent.filter((_, i) => verdicts[i] === 'again');
      if (later.length > 0) await this.#again(later, round);
    } catch (error) {
      if (round !== this.#round) return;
      this.#busy.delete(node);
      for (const partition of sent) this.client.forget(partition.topic);
      if (error instanceof FencedError || isFenced(codeOf(error))) this.#fence(reasonOf(error));
      else this.#lose(reasonOf(error));
      return;
    }
    this.#schedule();
  }

  /** As many of the partitions as one request takes. */
  #chosen(partitions: readonly Partition[]): Partition[] {
    let room = requestBytes;
    return partitions.filter(({ batches }, i) => {
      room -= batches[0]!.sizeBytes;
      return i === 0 || room >= 0;
    });
  }

  async #request(node: number, sent: readonly Partition[]): Promise<Acknowledged[] | null> {
    const { requiredACKs, codec } = this.conf;
    const { transacted } = this;
    const producer = transacted?.identity ?? null;
    await transacted?.join(sent.map(({ topic, index }) => [topic, index]));
    const produced = new Map<string, Map<number, Buffer>>();
    for (const { topic, index, batches, sequence } of sent) {
      const numbering: Numbering | null = producer && { producerId: producer.id, epoch: producer.epoch, sequence };
      batches[0]!.attempts++;
      const partitions = produced.get(topic) ?? new Map<number, Buffer>();
      produced.set(topic, partitions.set(index, batches[0]!.encode(codec, numbering)));
    }
    const acks = transacted === null ? requiredACKs : -1;
    const answer = await this.client.send(node, produceRequest(produced, acks, transacted?.id ?? null));
    return acks === 0 ? null : produceAnswer(answer);
  }

  /** Takes the answer to the first batch; returns the error that ends the connection, or what becomes of the batch. */
  #settle(partition: Partition, answers: readonly Acknowledged[] | null): 'done' | 'again' | Error {
    const { topic, index, batches } = partition;
    partition.isSent = false;
    const answer = answers?.find((one) => one.topic === topic && one.partition === index);
    const code = answers === null ? 0 : (answer?.code ?? -1);
    const batch = batches[0]!;
    if (code === 0 || code === codes.duplicateSequence) {
      batches.shift();
      partition.sequence += batch.count;
      this.owner.accepted(batch.credit, batch.count);
      this.#less(batch.count);
    } else if (isFenced(code)) {
      return new FencedError(codeReason(code));
    } else if (isRefusal(code) && batch.count > 1) {
      batches.splice(0, 1, ...batch.halves());
    } else if (!isTransient(code)) {
      batches.shift();
      const text = answer?.text ? `: ${answer.text}` : '';
      this.#refuse(batch, `${codeReason(code)}${text}`);
    } else {
      this.client.forget(topic);
      return batch.attempts < this.conf.maxAttempts ? 'again' : kafkaErrors.connection(codeReason(code));
    }
    return 'done';
  }

  /** Sends batches again after a pause. */
  async #again(partitions: readonly Partition[], round: number): Promise<void> {
    for (const partition of partitions) partition.isSent = true;
    await new Promise((resolve) => setTimeout(resolve, pauseMs * partitions[0]!.batches[0]!.attempts));
    if (round === this.#round) for (const partition of partitions) partition.isSent = false;
  }

  #refuse(batch: BatchBuilder, reason: string): void {
    batch.each(({ value }, credit) => this.owner.refused(value, credit, 1, reason));
    this.#less(batch.count);
  }

  #less(messages: number): void {
    this.#waiting -= messages;
    if (this.#waiting === 0) for (const call of this.#onIdle.splice(0)) call();
  }

  #lose(reason: string): void {
    if (!this.#isOpen) return;
    this.stop();
    this.owner.lost(reason);
  }

  #fence(reason: string): void {
    this.stop();
    this.owner.fenced?.(reason);
  }
}

function pushTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
