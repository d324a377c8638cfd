import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { field, joined, loadTextKernel, publish, TestSource } from './text-kernel.js';

const kernel = loadTextKernel();

test('decodes the columns in use from MQTT packets', () => {
  const source = new TestSource(kernel, { framing: 'mqtt' }, [
    field('id'),
    field('device'),
    field('temp'),
    field('none'),
  ]);
  const packets = Array.from({ length: 3000 }, (_, i) =>
    publish('a/b', `{"id":${i},"device":"dev-${i % 7}","temp":${i / 10},"hum":55.1,"ts":1700000000000}`),
  );
  const batches = source.feed(Buffer.concat(packets));
  assert.is(batches.length, 3);
  assert.equal(batches[0]!.uniform, [4, 5, 4, 0]);
  const all = joined(batches);
  assert.equal(
    all.columns[0],
    packets.map((_, i) => i),
  );
  assert.equal(
    all.columns[1],
    packets.map((_, i) => `dev-${i % 7}`),
  );
  assert.equal(
    all.columns[2],
    packets.map((_, i) => i / 10),
  );
  assert.ok(all.columns[3]!.every((value) => value === undefined));
  assert.is(batches[0]!.raw[2]![15], '1.5');
  source.close();
});

test.run();
