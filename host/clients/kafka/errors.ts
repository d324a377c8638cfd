/** Failures of connections to Kafka brokers. */
import { errorTable } from '../../base/errors.js';

export const kafkaErrors = errorTable('kafka', {
  /** Reasons of the library, the broker or the system. */
  connection: ['connection', (reason: string) => reason],
  noTopic: ['connection', (topic: string) => `topic ${topic} does not exist, and the broker does not create it`],
  noPartition: [
    'connection',
    (topic: string, partition: number, count: number) =>
      `topic ${topic} has no partition ${partition}: its partitions are 0 to ${count - 1}`,
  ],
  closed: ['connection', 'the connection was closed'],
  position: ['config', 'the position is none of a Kafka source'],
  transactions: ['config', (reason: string) => `kafka sink: ${reason}`],
});
