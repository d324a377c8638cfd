/** A portable plugin that takes more memory than it may is ended and comes back; its neighbours run on. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer } from '../../support/harness.js';
import {
  freshName,
  lacksSdk,
  pythonFunction,
  pythonHead,
  pythonPlugin,
  sdkEnv,
} from '../../support/plugins/portable.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const maxBytes = 120_000_000;

if (!lacksSdk('memory of portable plugins')) {
  const env = {
    ...sdkEnv,
    KUIPER__PORTABLE__MAXMEMORYBYTES: String(maxBytes),
    KUIPER__PORTABLE__CALLRETRIES: '0',
    KUIPER__BASIC__CONSOLELOG: 'true',
  };
  const server = await startServer({ env });
  test.after(async () => {
    await server.stop();
  });

  const grow = `
        kept = []
        while args[0] == "grow":
            kept.append(b"x" * (10 << 20))
            time.sleep(0.02)
        return args[0]`;
  const install = async (begin: string, body: string) => {
    const name = freshName(begin);
    const start = `plugin.start(PluginConfig("${name}", {}, {}, {"f_${name}": Work}))\n`;
    const program = pythonHead + pythonFunction('Work', body) + start;
    const file = pythonPlugin(name, { program, functions: [`f_${name}`] });
    const made = await server.request('POST', '/plugins/portables', { name, file });
    assert.is(made.status, 201, made.text);
    return name;
  };
  const status = async (name: string) => (await server.request('GET', `/plugins/portables/${name}/status`)).json;
  const reason = /it took \d+ bytes of memory, more than portable\.maxMemoryBytes \(120000000\)/;

  test('it is ended with its reason in the rows and the log, and comes back', async () => {
    const hungry = await install('hungry', grow.trim());
    const calm = await install('calm', 'return args[0]');
    const { pid: neighbour } = await status(calm);
    const rule = new RowsThrough(server);
    const rows = [{ a: 'one' }, { a: 'grow' }, { a: 'grow' }, { a: 'two' }];
    const [first, second, third, fourth] = await rule.results(`SELECT f_${hungry}(a) AS r FROM s`, rows);
    assert.equal([first, fourth], [{ r: 'one' }, { r: 'two' }]);
    for (const row of [second, third]) {
      assert.match(JSON.stringify(row), /the plugin ended during the call: it took/);
      assert.match(JSON.stringify(row), reason);
    }
    await eventually('the line of the log', () => reason.test(server.output()));
    const now = await status(hungry);
    assert.equal([now.status, now.restarts], ['running', 2]);
    assert.equal(await rule.results(`SELECT f_${calm}(a) AS r FROM s`, [{ a: 'tea' }]), [{ r: 'tea' }]);
    const { pid, restarts } = await status(calm);
    assert.equal([pid, restarts], [neighbour, 0]);
  });
}

test.run();
