/** A server that is given many rules keeps memory for the rules, not for what making them left behind. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';

const rules = 400;
/** A start may need as much. */
const smallBytes = 4 * 1024 * 1024;

/** Has the process print the size of its room for new objects at a signal. */
const tellsRoom = `import v8 from 'node:v8';
process.on('SIGUSR2', () => {
  const { space_size } = v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  console.error('room: ' + space_size + ' bytes');
});`;

test('making rules does not enlarge the room for new objects of the server', async () => {
  const server = await startServer({
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tellsRoom)}` },
  });
  const rooms = () => [...server.output().matchAll(/room: (\d+) bytes/g)].map(([, bytes]) => Number(bytes));
  const roomBytes = async (count: number): Promise<number> => {
    server.child.kill('SIGUSR2');
    return eventually('the size is printed', () => rooms()[count - 1]);
  };
  const before = await roomBytes(1);
  const sql = 'CREATE STREAM s (temp FLOAT) WITH (TYPE="memory", DATASOURCE="d", FORMAT="json", SHARED="true")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  for (let i = 0; i < rules; i++) {
    const rule = { id: `r${i}`, sql: `SELECT temp FROM s WHERE temp > ${i}`, actions: [{ nop: {} }] };
    assert.is((await server.request('POST', '/rules', rule)).status, 201);
  }
  const after = await roomBytes(2);
  assert.ok(after <= Math.max(before, smallBytes), `${before} bytes before, ${after} bytes with ${rules} rules`);
  await server.stop();
});

test.run();
