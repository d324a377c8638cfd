/** Plugins end with their server, also when it is killed, with all that they have started; the next one starts them. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import {
  freshName,
  lacksSdk,
  pythonFunction,
  pythonHead,
  pythonPlugin,
  sdkEnv,
} from '../../support/plugins/portable.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const isThere = (pid: number) => existsSync(`/proc/${pid}`);

if (!lacksSdk('ends of portable plugins')) {
  const name = freshName('child');
  const start = `import subprocess
child = subprocess.Popen(["sleep", "1000"])
${pythonFunction('Pids', 'return [os.getpid(), child.pid]')}
plugin.start(PluginConfig("${name}", {}, {}, {"pids_${name}": Pids}))
`;
  const file = pythonPlugin(name, { program: pythonHead + start, functions: [`pids_${name}`] });
  const data = temporaryFolder();
  const run = async (end: NodeJS.Signals) => {
    const server = await startServer({ data, env: sdkEnv });
    const made = await server.request('PUT', `/plugins/portables/${name}`, { name, file });
    if (made.status === 404) {
      assert.is((await server.request('POST', '/plugins/portables', { name, file })).status, 201);
    }
    const rows = await new RowsThrough(server).results(`SELECT pids_${name}() AS pids FROM s`, [{}]);
    const { pids } = rows[0] as { pids: number[] };
    assert.is(pids.filter(isThere).length, 2);
    await server.request('DELETE', '/rules/s1');
    await server.request('DELETE', '/streams/s1');
    rmSync(join(data, 'rows'), { recursive: true });
    await server.stop(end);
    await eventually('the end of the plugin and its child', () => !pids.some(isThere));
  };

  test('nothing is left of a plugin when its server ends', () => run('SIGTERM'));
  test('nothing is left of a plugin when its server is killed', () => run('SIGKILL'));
  test('the next server runs the plugin again', () => run('SIGKILL'));
}

test.run();
