/** A member of a consumer group at a cluster that is not ready for it: answers stand in the test. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { KafkaClient } from '../../../../host/clients/kafka/client.js';
import { GroupMember } from '../../../../host/clients/kafka/group.js';
import { type Assignment, assignmentBytes, subscription } from '../../../../host/clients/kafka/subscription.js';
import { eventually } from '../../../support/harness.js';

const codes = { noLeader: 5, loading: 14, notAvailable: 15, notCoordinator: 16 };
const refusal = (apiCode: number) => Object.assign(new Error(`code ${apiCode}`), { apiCode });

const answers: Readonly<Record<string, unknown>> = {
  JoinGroup: {
    ...{ memberId: 'm', generationId: 1, leader: 'm', protocolName: 'range' },
    members: [{ memberId: 'm', metadata: subscription(['t']) }],
  },
  SyncGroup: { assignment: assignmentBytes(new Map([['t', [0]]])) },
  OffsetFetch: { groups: [{ topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 7n }] }] }] },
  LeaveGroup: {},
  Heartbeat: {},
  OffsetCommit: {},
};

/** A cluster that first answers each request with the codes that stand for it. */
function clusterOf(refused: Readonly<Record<string, readonly number[]>> = {}) {
  const left = new Map(Object.entries(refused).map(([name, all]) => [name, [...all]]));
  const asked: string[] = [];
  const cluster = {
    asked,
    partitions: 1,
    newPool: () => ({}),
    endPool: () => {},
    forget: () => {},
    coordinator: async () => 1,
    topic: async () => ({ leaders: Array.from({ length: cluster.partitions }, () => 1) }),
    ask: async (_node: number, name: string) => {
      asked.push(name);
      const code = left.get(name)?.shift();
      if (code !== undefined) throw refusal(code);
      return answers[name];
    },
  };
  return cluster;
}

interface Heard {
  readonly assigned: Assignment[];
  readonly lost: string[];
  revoked: number;
}

function memberOf(cluster: object, isAssigned: () => Promise<void> = async () => {}, former?: string) {
  const heard: Heard = { assigned: [], lost: [], revoked: 0 };
  const owner = {
    revoked: () => void heard.revoked++,
    assigned: async (assignment: Assignment) => {
      heard.assigned.push(assignment);
      await isAssigned();
    },
    exception: (reason: string) => assert.unreachable(reason),
    lost: (reason: string) => void heard.lost.push(reason),
  };
  return { member: new GroupMember(cluster as unknown as KafkaClient, 'g', ['t'], owner, former), heard };
}

test('a coordinator that is coming up is waited for', async () => {
  const { loading, notAvailable, notCoordinator } = codes;
  const cluster = clusterOf({
    LeaveGroup: [loading],
    JoinGroup: [loading, notAvailable],
    SyncGroup: [notCoordinator],
    OffsetFetch: [loading],
  });
  const { member, heard } = memberOf(cluster, async () => {}, 'before');
  await member.join();
  assert.equal(heard.assigned, [new Map([['t', [0]]])]);
  assert.equal(await member.committed(heard.assigned[0]!), { t: { 0: 7 } });
  const asked = (name: string) => cluster.asked.filter((one) => one === name).length;
  assert.equal(['LeaveGroup', 'JoinGroup', 'SyncGroup', 'OffsetFetch'].map(asked), [2, 3, 2, 2]);
  assert.is(heard.revoked, 0);
  await member.close();
});

test('offsets are not committed once more: later ones may be there by then', async () => {
  const cluster = clusterOf({ OffsetCommit: [codes.loading] });
  const { member } = memberOf(cluster);
  await member.join();
  const refused = await member.commit({ t: { 0: 8 } }).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.is(refused, `code ${codes.loading}`);
  assert.is(cluster.asked.filter((name) => name === 'OffsetCommit').length, 1);
  await member.close();
});

test('a member that does not get its partitions again is lost, and does not go on without them', async () => {
  const cluster = clusterOf();
  let isRefused = false;
  const { member, heard } = memberOf(cluster, async () => {
    if (isRefused) throw refusal(codes.noLeader);
  });
  await member.join();
  isRefused = true;
  cluster.partitions = 2;
  const { now } = Date;
  try {
    // The next heartbeat looks for new partitions.
    Date.now = () => now() + 60_000;
    await eventually('the loss', () => heard.lost.length > 0);
  } finally {
    Date.now = now;
  }
  assert.equal(heard.lost, [`code ${codes.noLeader}`]);
  assert.is(heard.revoked, 1);
  await member.close();
});

test.run();
