/** Messages that a server takes later hold back the count of those behind them: a retry queue drops the oldest. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { toldSink } from '../../../support/connectors/told-sink.js';
import { eventually } from '../../../support/harness.js';
import { managerOf, needsNats, openNats } from '../../../support/servers/nats.js';
import { needsRabbit, rabbitLogin, sharedRabbit } from '../../../support/servers/rabbitmq.js';

if (needsNats('messages counted in order with NATS')) {
  test('behind a message that a stream takes later, others are counted after it, in their order', async () => {
    const nats = await openNats();
    const manager = await managerOf(nats.client);
    const limits = {
      max_msgs_per_subject: 1,
      discard: 'new',
      discard_new_per_subject: true,
      max_msg_size: 200,
    } as const;
    await manager.streams.add({ name: 'S', subjects: ['s.>'], ...limits });
    const { sink, told, lost, write } = await toldSink('nats', { server: nats.url, subject: 's', jetStream: true }, [
      'subject',
    ]);
    await sink.open();
    write('one', { subject: 's.full' });
    write('two', { subject: 's.full' });
    write('three', { subject: 's.three' });
    write('four'.repeat(100), { subject: 's.four' });
    write('five', { subject: 's.five' });
    await eventually('what is told', () => told.length > 0 && lost.length > 0);
    assert.equal(told, ['1 out']);
    assert.match(lost[0]!, /maximum messages per subject/);
    await manager.streams.purge('S', { filter: 's.full' });
    await sink.open();
    await sink.flush!();
    assert.is(told.length, 5);
    assert.equal([...told.slice(0, 3), told[4]], Array(4).fill('1 out'));
    assert.match(told[3]!, /^four.*: .*exceeds/);
    assert.is((await manager.streams.info('S')).state.messages, 3);
    await sink.close();
    await nats.close();
  });
}

if (needsRabbit('messages counted in order with RabbitMQ')) {
  test('behind a message that a queue takes later, others are counted after it, in their order', async () => {
    const rabbit = await sharedRabbit();
    const channel = await rabbit.client.createChannel();
    await channel.assertQueue('full', { arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } });
    await channel.assertQueue('free');
    const props = { server: rabbit.url, ...rabbitLogin, mandatory: true };
    const { sink, told, lost, write } = await toldSink('rabbitmq', props, ['routingKey']);
    await sink.open();
    write('one', { routingKey: 'full' });
    write('two', { routingKey: 'full' });
    write('three', { routingKey: 'free' });
    write('four', { routingKey: 'nowhere' });
    write('five', { routingKey: 'free' });
    await eventually('what is told', () => told.length > 0 && lost.length > 0);
    assert.equal(told, ['1 out']);
    await channel.purgeQueue('full');
    await sink.open();
    await sink.flush!();
    assert.equal([...told.slice(0, 3), told[4]], Array(4).fill('1 out'));
    assert.match(told[3]!, /^four: returned by the server, NO_ROUTE/);
    assert.is((await channel.checkQueue('free')).messageCount, 2);
    assert.is((await channel.checkQueue('full')).messageCount, 1);
    await sink.close();
    await rabbit.close();
  });
}

test.run();
