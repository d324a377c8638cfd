/** Topics of Kafka whose leaders do not know of them yet: answers stand in the test. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { KafkaClient } from '../../../../host/clients/kafka/client.js';
import { edgeOf } from '../../../../host/clients/kafka/offsets.js';

const noLeader = 6;
const unauthorized = 29;

/** A cluster whose leader answers the first questions for offsets with these codes. */
class Cluster extends KafkaClient {
  readonly asked: string[] = [];

  constructor(readonly refused: number[]) {
    super({ brokers: '127.0.0.1:1', saslAuthType: 'none', saslUserName: '', password: '' }, undefined);
  }

  override async ask<T>(_node: number | undefined, name: string): Promise<T> {
    this.asked.push(name);
    if (name === 'Metadata') {
      const partitions = [{ partitionIndex: 0, leaderId: 1 }];
      return { brokers: [{ nodeId: 1, host: '127.0.0.1', port: 1 }], topics: [{ partitions }] } as T;
    }
    const apiCode = this.refused.shift();
    if (apiCode !== undefined) throw Object.assign(new Error(`code ${apiCode}`), { apiCode });
    return { topics: [{ partitions: [{ offset: 5n }] }] } as T;
  }
}

const place = { topic: 't', partition: 0 };

test('the leader of a partition that was just created is asked again, whoever it is then', async () => {
  const cluster = new Cluster([noLeader, noLeader]);
  assert.is(await edgeOf(cluster, place, 'begin', 1), 5);
  assert.equal(cluster.asked, ['Metadata', 'ListOffsets', 'Metadata', 'ListOffsets', 'Metadata', 'ListOffsets']);
  cluster.close();
});

test('what does not pass is not asked again', async () => {
  const cluster = new Cluster([unauthorized]);
  const reason = await edgeOf(cluster, place, 'end', 1).then(String, (error: Error) => error.message);
  assert.is(reason, `code ${unauthorized}`);
  assert.equal(cluster.asked, ['Metadata', 'ListOffsets']);
  cluster.close();
});

test.run();
