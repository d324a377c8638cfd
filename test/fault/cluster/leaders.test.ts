/** The leaders of the buckets with the signs of life: an election that gives both to one server of NATS is seen. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NatsCluster } from '../../../bench/cluster/chaos/nats-cluster.js';
import { silent } from '../../../host/base/log/log.js';
import { Leaders } from '../../../host/cluster/leaders.js';
import { eventually, temporaryFolder } from '../../support/harness.js';
import { needsNats } from '../../support/servers/nats.js';

if (needsNats('leaders of buckets')) {
  const buckets = ['one', 'two'].map((name) => ({ name, stream: `KV_${name}` }));
  const [one, two] = buckets.map(({ stream }) => stream) as [string, string];
  /** Longer than this test takes: what is seen is told by the elections. */
  const neverMs = 3_600_000;

  test('both are apart soon after an election has put them together, and after a server was killed', async () => {
    const nats = await NatsCluster.open(temporaryFolder(), 3);
    const leaderOf = async (stream: string) => {
      const info = await nats.manager.streams.info(stream).catch(() => undefined);
      return info?.cluster?.leader;
    };
    /** Has the stream led by the server. */
    const lead = async (stream: string, server: string) => {
      const body = JSON.stringify({ placement: { preferred: server } });
      const answer = await nats.client.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, body, { timeout: 10_000 });
      assert.is(answer.json<{ success?: boolean }>().success, true, answer.string());
    };
    const apart = () =>
      eventually('two leaders', async () => {
        const [first, second] = [await leaderOf(one), await leaderOf(two)];
        return first && second && first !== second ? [first, second] : undefined;
      });
    let leaders: Leaders | undefined;
    try {
      for (const { name, stream } of buckets) await nats.addStream(stream, [name]);
      await nats.whole(60_000);
      const first = (await eventually('a leader', () => leaderOf(one))) as string;
      if ((await eventually('another leader', () => leaderOf(two))) !== first) await lead(two, first);
      await eventually('one leader of both', async () => (await leaderOf(two)) === (await leaderOf(one)));
      // A server that lags behind is not chosen.
      await nats.whole(60_000);
      leaders = new Leaders(nats.client, buckets, () => true, silent, neverMs);
      leaders.start();
      for (const stream of [two, one]) {
        const now = await apart();
        let elections = 0;
        const subject = `$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.${stream}`;
        const heard = nats.client.subscribe(subject, { callback: () => void elections++ });
        await lead(stream, stream === two ? now[0]! : now[1]!);
        await eventually('the election', () => elections > 0);
        heard.unsubscribe();
        await apart();
      }
      const killed = await nats.leaderOf(two);
      await killed.end('SIGKILL');
      // NATS elects after seconds, and after more than a minute now and then.
      const elected = async () => {
        const [first, second] = [await leaderOf(one), await leaderOf(two)];
        return first && second && second !== killed.name && first !== killed.name;
      };
      await eventually('an election', elected, 180_000);
      const [left, right] = await apart();
      assert.ok(![left, right].includes(killed.name), `${left} and ${right} lead`);
    } finally {
      leaders?.close();
      await nats.close();
    }
  });
}

test.run();
