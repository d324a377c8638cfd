/** An input log that can't be taken again ends the rules of its stream, and status and log say why. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputLog } from '../../../../../../host/run/plane/state/input-log/input-log.js';
import { openRawBroker } from '../../../../../support/brokers/raw-broker.js';
import { openPlane, passRule } from '../../../../../support/engine/plane.js';
import { temporaryFolder } from '../../../../../support/harness.js';

const { replay } = InputLog.prototype;
test.after.each(() => {
  InputLog.prototype.replay = replay;
});

test('the rule ends with the reason, and nothing is connected', async () => {
  InputLog.prototype.replay = () => Promise.reject(new Error('a page makes no sense'));
  const broker = await openRawBroker(() => {});
  const { plane, report } = await openPlane();
  const props = { server: broker.url, qos: 1 };
  const start = passRule({ type: 'mqtt', props, dataSource: 'a' }, [{ type: 'nop', props: {} }], {
    inputLogs: { demo: temporaryFolder() },
  });
  await plane.start(start);
  const { reason, metrics } = await report(start.run, 'failed');
  assert.is(reason, "its input log can't be taken again: a page makes no sense");
  assert.is(metrics.source_demo_0_last_exception, reason);
  assert.is(broker.connections, 0);
  await plane.close();
  broker.close();
});

test.run();
