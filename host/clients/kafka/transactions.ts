/**
 * Messages in transactions, one after the other. A transaction that is cut off is prepared when the brokers have all of
 * it, and committed when somebody says so. Kafka has one open transaction for each transactional id, so there are some
 * ids, and transaction n has the id n modulo their number. An id serves again when a later transaction is committed:
 * until then its state at the brokers tells what became of its transaction, whoever asks.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { addPartitionsToTxnV3 } from '@platformatic/kafka';
import { reasonOf } from '../../base/errors.js';
import type { Record } from './batch-builder.js';
import type { KafkaClient } from './client.js';
import { kafkaErrors } from './errors.js';
import { Producer, type ProducerConf, type ProducerOwner, type Transacted } from './producer.js';
import { codeOf, codes, isFenced, isTransient, kafkaReason } from './reasons.js';

export interface TransactionsOwner extends Pick<ProducerOwner, 'accepted' | 'refused' | 'lost'> {
  /** A transaction that should be committed is gone, with all its messages. */
  gone(reason: string): void;
}

const ids = 4;
/** Time after which brokers abort an open transaction, ms: the longest that they allow by default, and a short one. */
const timeoutsMs = [900_000, 60_000];
/** Time for which a coordinator may be busy, and the pause between two attempts, ms. */
const patienceMs = 30_000;
const pauseMs = 25;

interface Held extends Record {
  readonly topic: string;
  readonly credit: number;
}

class Slot implements Transacted {
  /** Number of the transaction; 0 while there is none. */
  number = 0;
  state: 'new' | 'kept' | 'free' | 'open' | 'cut' | 'committed' = 'new';
  producerId = -1;
  epoch = -1;
  coordinator: number | undefined;
  producer: Producer | undefined;
  readonly joined = new Set<string>();

  constructor(
    readonly id: string,
    public client: KafkaClient,
  ) {}

  get identity(): { id: number; epoch: number } {
    return { id: this.producerId, epoch: this.epoch };
  }

  /** Begins anew: aborts what the id has open, and shuts out whoever wrote with it. */
  async init(): Promise<void> {
    for (const timeoutMs of timeoutsMs) {
      try {
        interface Answer {
          producerId: bigint;
          producerEpoch: number;
        }
        const answer = await this.ask<Answer>('InitProducerId', [this.id, timeoutMs, -1n, -1]);
        this.producerId = Number(answer.producerId);
        this.epoch = answer.producerEpoch;
        this.state = 'free';
        this.producer?.renumber();
        return;
      } catch (error) {
        if (codeOf(error) !== codes.transactionTimeout || timeoutMs === timeoutsMs.at(-1)) throw error;
      }
    }
  }

  async join(partitions: readonly (readonly [topic: string, partition: number])[]): Promise<void> {
    const topics = new Map<string, number[]>();
    for (const [topic, partition] of partitions) {
      if (this.joined.has(`${topic}/${partition}`)) continue;
      topics.set(topic, [...(topics.get(topic) ?? []), partition]);
    }
    if (topics.size === 0) return;
    const transaction = {
      transactionalId: this.id,
      producerId: BigInt(this.producerId),
      producerEpoch: this.epoch,
      verifyOnly: false,
      topics: [...topics].map(([name, list]) => ({ name, partitions: list })),
    };
    // Later versions are for brokers alone.
    await this.#patiently((node) => this.client.call(node, addPartitionsToTxnV3.api, [[transaction]]));
    for (const [topic, partition] of partitions) this.joined.add(`${topic}/${partition}`);
  }

  async commit(): Promise<void> {
    if (this.joined.size > 0) await this.end();
    this.joined.clear();
    this.state = 'committed';
  }

  async end(): Promise<void> {
    await this.ask('EndTxn', [this.id, BigInt(this.producerId), this.epoch, true]);
  }

  /** Commits what an earlier run has prepared; returns why that is impossible. */
  async commitKept(): Promise<string | undefined> {
    interface Described {
      transactionStates: { transactionState: string; producerId: bigint; producerEpoch: number }[];
    }
    try {
      const { transactionStates } = await this.ask<Described>('DescribeTransactions', [[this.id]]);
      const { transactionState: state, producerId, producerEpoch } = transactionStates[0]!;
      if (/abort|fence|dead/i.test(state)) return `the broker has aborted it (${state})`;
      if (/ongoing|prepare/i.test(state)) {
        this.producerId = Number(producerId);
        this.epoch = producerEpoch;
        await this.end();
      }
    } catch (error) {
      if (isFenced(codeOf(error))) return kafkaReason(error);
      // Brokers forget ids that were not used for days: what they had was committed before.
      if (codeOf(error) !== codes.noTransactionalId) throw error;
    }
    return undefined;
  }

  ask<T>(name: string, args: unknown[]): Promise<T> {
    return this.#patiently((node) => this.client.ask<T>(node, name, args));
  }

  async #patiently<T>(call: (node: number) => Promise<T>): Promise<T> {
    const end = Date.now() + patienceMs;
    for (;;) {
      try {
        this.coordinator ??= await this.client.coordinator(1, this.id);
        return await call(this.coordinator);
      } catch (error) {
        const code = codeOf(error);
        const isBusy = code === codes.concurrentTransactions || isTransient(code);
        if (code !== codes.concurrentTransactions) this.coordinator = undefined;
        if (!isBusy || Date.now() > end) throw error;
        await pause(pauseMs);
      }
    }
  }
}

export class Transactions {
  #slots: Slot[] = [];
  /** Number of the transaction under way. */
  #number = 1;
  /** Messages of the transaction under way. */
  #count = 0;
  /** Transaction of an earlier run that is to be committed, and how many messages it has. */
  #kept = 0;
  #keptMessages = 0;
  /** Everything up to this transaction is to be committed. */
  #committable = 0;
  /** What waits for an id: messages, and null where a transaction ends. */
  #held: (Held | null)[] = [];
  #heldCuts = 0;
  #isOpen = false;
  #fence: string | undefined;
  #onDrained: (() => void)[] = [];
  #committing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    readonly conf: ProducerConf,
    readonly owner: TransactionsOwner,
  ) {}

  /** Goes on behind a transaction of an earlier run, which is to be committed; all others are aborted. */
  begin(position: { transaction: number; messages: number }): void {
    this.#kept = position.transaction;
    this.#keptMessages = position.messages;
    this.#committable = position.transaction;
    this.#number = position.transaction + 1;
  }

  async open(client: KafkaClient): Promise<void> {
    if (this.#fence !== undefined) throw kafkaErrors.transactions(this.#fence);
    if (this.#slots.length === 0) await this.#recover(client);
    this.#isOpen = true;
    for (const slot of this.#slots) {
      slot.client = client;
      slot.producer?.open(client);
    }
    this.#drain();
    this.#commitAll();
  }

  async #recover(client: KafkaClient): Promise<void> {
    const slots = Array.from({ length: ids }, (_, i) => new Slot(`${this.name}-${i}`, client));
    const kept = this.#keptMessages > 0 ? slots[this.#kept % ids] : undefined;
    try {
      for (const slot of slots) if (slot !== kept) await slot.init();
      if (kept !== undefined) {
        const reason = await kept.commitKept();
        kept.state = 'kept';
        kept.number = this.#kept;
        if (reason !== undefined) {
          this.owner.gone(`${this.#keptMessages} messages of transaction ${this.#kept} are lost: ${reason}`);
        }
      }
    } catch (error) {
      if (isFenced(codeOf(error))) throw kafkaErrors.transactions(reasonOf(error), { cause: error });
      throw error;
    }
    for (const slot of slots) slot.producer = this.#makeProducer(slot, client);
    this.#slots = slots;
  }

  #makeProducer(slot: Slot, client: KafkaClient): Producer {
    const { owner } = this;
    return new Producer(
      client,
      this.conf,
      {
        accepted: (bytes, messages) => owner.accepted(bytes, messages),
        refused: (message, bytes, messages, reason) => owner.refused(message, bytes, messages, reason),
        lost: (reason) => this.#lose(reason),
        fenced: (reason) => {
          this.#fence = `the transaction can't go on: ${reason}`;
          this.#lose(reason);
        },
      },
      slot,
    );
  }

  #lose(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const { producer } of this.#slots) producer?.stop();
    this.owner.lost(reason);
  }

  add(topic: string, record: Record, credit: number): void {
    this.#count++;
    const slot = this.#held.length === 0 ? this.#current : undefined;
    if (slot?.producer !== undefined) {
      slot.producer.add(topic, record, credit);
      return;
    }
    const { key, headers, value } = record;
    this.#held.push({ topic, key: key && Buffer.from(key), headers, value: Buffer.from(value), credit });
  }

  /** The id of the transaction that what comes next belongs to; undefined while it is not free. */
  get #current(): Slot | undefined {
    const number = this.#number - this.#heldCuts;
    const slot = this.#slots[number % ids];
    if (slot?.state === 'free' && !this.#isUnderWay) {
      slot.state = 'open';
      slot.number = number;
    }
    return slot?.state === 'open' && slot.number === number ? slot : undefined;
  }

  /** A transaction begins when the brokers have those before: otherwise messages would change their order. */
  get #isUnderWay(): boolean {
    return this.#slots.some(({ state, producer }) => state === 'cut' && (producer?.waiting ?? 0) > 0);
  }

  #endTransaction(slot: Slot): void {
    slot.state = 'cut';
    void slot.producer?.flush().then(() => this.#drain());
  }

  /** Ends the transaction under way; returns its place. */
  cut(): { transaction: number; messages: number } {
    const cut = { transaction: this.#number, messages: this.#count };
    if (this.#held.length > 0 || this.#slots.length === 0) {
      this.#held.push(null);
      this.#heldCuts++;
    } else {
      this.#endCurrent();
    }
    this.#number++;
    this.#count = 0;
    return cut;
  }

  #endCurrent(): void {
    const slot = this.#current;
    if (slot !== undefined) this.#endTransaction(slot);
  }

  /** Gives on what waits, as far as ids are free. */
  #drain(): void {
    while (this.#held.length > 0) {
      const next = this.#held[0]!;
      const slot = this.#current;
      if (slot?.producer === undefined) break;
      this.#held.shift();
      if (next !== null) {
        slot.producer.add(next.topic, next, next.credit);
        continue;
      }
      this.#heldCuts--;
      this.#endTransaction(slot);
    }
    if (this.#heldCuts === 0) for (const call of this.#onDrained.splice(0)) call();
  }

  /** Resolves when the brokers have all messages so far. */
  async flush(): Promise<void> {
    while (this.#held.length > 0) await this.#drained();
    await Promise.all(this.#slots.map(({ producer }) => producer?.flush()));
  }

  /** Resolves when the brokers have all transactions that are cut off. */
  async prepared(): Promise<void> {
    while (this.#heldCuts > 0) await this.#drained();
    await Promise.all(this.#slots.map(({ state, producer }) => (state === 'cut' ? producer?.flush() : undefined)));
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => this.#onDrained.push(resolve));
  }

  /** Commits the transactions up to this one, which are prepared; as soon as it can. */
  commit(transaction: number): void {
    this.#committable = Math.max(this.#committable, transaction);
    this.#commitAll();
  }

  #commitAll(): void {
    if (!this.#isOpen || this.#committing !== undefined) return;
    this.#committing = this.#commitDue()
      .catch((error: unknown) => this.#lose(reasonOf(error)))
      .finally(() => {
        this.#committing = undefined;
      });
  }

  async #commitDue(): Promise<void> {
    for (;;) {
      const due = this.#slots
        .filter(({ state, number }) => state === 'cut' && number <= this.#committable)
        .sort((a, b) => a.number - b.number);
      for (const slot of due) {
        try {
          await slot.commit();
        } catch (error) {
          if (!isFenced(codeOf(error))) throw error;
          this.owner.gone(`the messages of transaction ${slot.number} are lost: ${reasonOf(error)}`);
          slot.joined.clear();
          slot.state = 'kept';
        }
      }
      await this.#release();
      if (due.length === 0) return;
    }
  }

  /** Ids of transactions before the last committed one serve again. */
  async #release(): Promise<void> {
    for (const slot of this.#slots) {
      if (slot.number >= this.#committable) continue;
      if (slot.state === 'committed') slot.state = 'free';
      else if (slot.state === 'kept') await slot.init();
    }
    this.#drain();
  }

  /** Resolves when what is to be committed is. */
  async close(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
    this.#isOpen = false;
    for (const { producer } of this.#slots) producer?.close();
  }
}
