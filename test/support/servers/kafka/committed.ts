/**
 * What a topic has outside open and aborted transactions. By kafkajs: that of @platformatic/kafka ends with a TypeError
 * where an aborted transaction has no message in a partition, and passes on aborted messages whose marker comes with a
 * later answer. Of kafkajs one part is replaced: it takes aborted transactions as if they were told in the order of
 * their first messages, and brokers tell them in the order of their ends.
 */
import { createRequire } from 'node:module';
import { eventually } from '../../harness.js';

interface Message {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

interface Answer {
  readonly messages: readonly Message[];
  readonly abortedTransactions?: readonly { readonly producerId: string; readonly firstOffset: string }[] | null;
}

const abortMarker = Buffer.from([0, 0, 0, 0]);

function withoutAborted({ messages, abortedTransactions }: Answer): readonly Message[] {
  const left = [...(abortedTransactions ?? [])].sort((a, b) => Number(a.firstOffset) - Number(b.firstOffset));
  const aborted = new Set<string>();
  return messages.filter(({ offset, key, isControlRecord, batchContext: { producerId, inTransaction } }) => {
    while (left.length > 0 && Number(left[0]!.firstOffset) <= Number(offset)) aborted.add(left.shift()!.producerId);
    if (isControlRecord && key !== null && abortMarker.equals(key)) aborted.delete(producerId);
    return !inTransaction || !aborted.has(producerId);
  });
}

const require = createRequire(import.meta.url);
const filter = require.resolve('kafkajs/src/consumer/filterAbortedMessages.js');
require(filter);
require.cache[filter]!.exports = withoutAborted;
const kafkajs = require('kafkajs') as typeof import('kafkajs');

let lastGroup = 0;

export interface Committed {
  readonly value: string;
  readonly partition: number;
  readonly offset: number;
}

/** Reads committed messages from the beginning until `isEnough`. */
export async function readCommitted(
  brokers: string,
  topic: string,
  isEnough: (got: readonly Committed[]) => boolean,
): Promise<Committed[]> {
  const { Kafka, logLevel } = kafkajs;
  const kafka = new Kafka({ clientId: 'test-committed', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({
    groupId: `test-committed-${process.pid}-${++lastGroup}`,
    maxWaitTimeInMs: 100,
    readUncommitted: false,
  });
  const got: Committed[] = [];
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        got.push({ value: String(message.value), partition, offset: Number(message.offset) });
      },
    });
    await eventually(`the committed messages of ${topic}`, () => isEnough(got));
  } finally {
    await consumer.disconnect();
  }
  return got;
}
