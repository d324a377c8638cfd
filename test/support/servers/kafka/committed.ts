/**
 * What a topic has outside open and aborted transactions. By kafkajs: that of @platformatic/kafka ends with a TypeError
 * where an aborted transaction has no message in a partition, and passes on aborted messages whose marker comes with a
 * later answer.
 */
import kafkajs from 'kafkajs';
import { eventually } from '../../harness.js';

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
