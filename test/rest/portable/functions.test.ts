/** Functions of portable plugins in rules: programs on the published SDK for Python that answer, fail, hang, die. */
import { writeFileSync } from 'node:fs';
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

const server = await startServer({ env: { ...sdkEnv, KUIPER__PORTABLE__RECVTIMEOUT: '1s', SECRET_OF_SERVER: 'x' } });
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);

const name = freshName('calc');
const of = (func: string) => `${func}_${name}`;
const program = `${pythonHead}
${pythonFunction('Revert', 'return args[0][::-1]')}
${pythonFunction('Sum', 'return sum(args[0])', true)}
${pythonFunction('Echo', 'return args')}
${pythonFunction('Divide', 'return 10 / args[0]')}
${pythonFunction('Environment', 'return sorted(os.environ.keys())')}
${pythonFunction('Die', 'os._exit(3) if args[0] == "die" and ctx.get_rule_id() else None; return args[0]')}
${pythonFunction('Hang', 'time.sleep(60 if args[0] == "hang" else 0); return args[0]')}
class Count(Function):
    def __init__(self): self.n = {}
    def validate(self, args): return ""
    def is_aggregate(self): return False
    def exec(self, args, ctx):
        self.n[ctx] = self.n.get(ctx, 0) + 1
        return self.n[ctx]
functions = {"revert": Revert, "sum": Sum, "echo": Echo, "divide": Divide, "environment": Environment, "die": Die,
    "hang": Hang, "count": Count}
plugin.start(PluginConfig("${name}", {}, {}, {k + "_${name}": v for k, v in functions.items()}))
`;
const functions = ['revert', 'sum', 'echo', 'divide', 'environment', 'die', 'hang', 'count'].map(of);

if (!lacksSdk('functions of portable plugins')) {
  const file = pythonPlugin(name, { program, functions });
  const made = await server.request('POST', '/plugins/portables', { name, file });
  assert.equal([made.status, made.text], [201, `portable plugin ${name} is created`]);
  const status = async () => (await server.request('GET', `/plugins/portables/${name}/status`)).json;

  test('a function is called for each row, in order', async () => {
    const rows = [{ a: 'abc' }, { a: 'tea' }, { a: 'x' }];
    assert.equal(await rule.results(`SELECT ${of('revert')}(a) AS r, a FROM s`, rows), [
      { r: 'cba', a: 'abc' },
      { r: 'aet', a: 'tea' },
      { r: 'x', a: 'x' },
    ]);
    assert.is((await status()).status, 'running');
    assert.ok((await status()).pid > 0);
  });

  test('arguments and results are values of JSON', async () => {
    const rows = [{ n: 1, t: 'x', l: [1, 2.5], o: { b: true }, z: null }];
    const [row] = (await rule.results(`SELECT ${of('echo')}(n, t, l, o, z) AS r FROM s`, rows)) as { r: unknown }[];
    assert.equal(row?.r, [1, 'x', [1, 2.5], { b: true }, null]);
    assert.equal(await rule.results(`SELECT ${of('echo')}() AS r FROM s`, rows), [{ r: [] }]);
  });

  test('what a function says of itself makes it an aggregate', async () => {
    const rows = [{ a: 1 }, { a: 2 }, { a: 3 }, { a: 4 }];
    const made = await rule.results(`SELECT ${of('sum')}(a) AS r FROM s GROUP BY COUNTWINDOW(2)`, rows);
    assert.equal(made, [{ r: 3 }, { r: 7 }]);
  });

  test('aggregates that the description names are known without asking', async () => {
    const own = freshName('told');
    const program = `${pythonHead}${pythonFunction('Sum', 'return sum(args[0])')}
plugin.start(PluginConfig("${own}", {}, {}, {"sum_${own}": Sum}))
`;
    const archive = pythonPlugin(own, { program, functions: [`sum_${own}`], aggregates: [`sum_${own}`] });
    const answer = await server.request('POST', '/plugins/portables', { name: own, file: archive });
    assert.is(answer.status, 201, answer.text);
    assert.is((await server.request('GET', `/plugins/portables/${own}/status`)).json.status, 'stop');
    const made = await rule.results(`SELECT sum_${own}(a) AS r FROM s GROUP BY COUNTWINDOW(2)`, [{ a: 1 }, { a: 2 }]);
    assert.equal(made, [{ r: 3 }]);
  });

  test('a plugin that connects long after its installation is asked then, and its rules are planned anew', async () => {
    const own = freshName('late');
    const folder = temporaryFolder();
    const late = `${pythonHead}${pythonFunction('Sum', 'return sum(args[0])', true)}
if not os.path.exists("${folder}/ready"): sys.exit("not ready")
plugin.start(PluginConfig("${own}", {}, {}, {"sum_${own}": Sum}))
`;
    const archive = pythonPlugin(own, { program: late, functions: [`sum_${own}`] });
    const answer = await server.request('POST', '/plugins/portables', { name: own, file: archive });
    assert.is(answer.status, 201, answer.text);
    await server.request('POST', '/streams', {
      sql: 'CREATE STREAM ticks () WITH (TYPE="simulator", FORMAT="json", CONF_KEY="ticks")',
    });
    await server.request('PUT', '/metadata/sources/simulator/confKeys/ticks', { data: [{ a: 1 }], interval: '20ms' });
    const sql = `SELECT sum_${own}(a) AS r FROM ticks GROUP BY COUNTWINDOW(2)`;
    const restartStrategy = { attempts: 1000, delay: '100ms', multiplier: 1 };
    const running = { id: own, sql, actions: [{ nop: {} }], options: { sendError: false, restartStrategy } };
    assert.is((await server.request('POST', '/rules', running)).status, 201);
    const statusOf = async () => (await server.request('GET', `/rules/${own}/status`)).text;
    await eventually('the reason', async () => (await statusOf()).includes('not ready'));
    writeFileSync(join(folder, 'ready'), '');
    await eventually('rows of the aggregate', async () => {
      const { json } = await server.request('GET', `/rules/${own}/status`);
      return json.sink_nop_0_0_records_out_total > 0;
    });
    await server.request('DELETE', `/rules/${own}`);
    assert.equal(await rule.results(sql.replace('ticks', 's'), [{ a: 1 }, { a: 2 }]), [{ r: 3 }]);
  });

  test('an exception is the error of its row', async () => {
    const rows = [{ a: 5 }, { a: 0 }, { a: 2 }];
    const [first, second, third] = await rule.results(`SELECT ${of('divide')}(a) AS r FROM s`, rows);
    assert.equal([first, third], [{ r: 2 }, { r: 5 }]);
    assert.match(JSON.stringify(second), new RegExp(`function ${of('divide')}: ZeroDivisionError: division by zero`));
  });

  test('each call of a rule has a state of its own', async () => {
    const rows = [{ a: 1 }, { a: 2 }];
    assert.equal(await rule.results(`SELECT ${of('count')}(a) AS r, ${of('count')}(a) AS q FROM s`, rows), [
      { r: 1, q: 1 },
      { r: 2, q: 2 },
    ]);
  });

  test('a plugin sees nothing of the environment that may be a secret', async () => {
    const [row] = (await rule.results(`SELECT ${of('environment')}() AS r FROM s`, [{}])) as { r: string[] }[];
    assert.ok(row?.r.includes('PATH'));
    assert.not(row?.r.some((key) => key.includes('SECRET') || key.startsWith('KUIPER')));
  });

  test('a call that ends its plugin is repeated once, fails then, and the plugin comes back', async () => {
    const rows = [{ a: 'one' }, { a: 'die' }, { a: 'two' }];
    const before = (await status()).restarts;
    const [first, second, third] = await rule.results(`SELECT ${of('die')}(a) AS r FROM s`, rows);
    assert.equal([first, third], [{ r: 'one' }, { r: 'two' }]);
    assert.match(JSON.stringify(second), /the plugin ended during the call/);
    const now = await status();
    assert.equal([now.status, now.restarts - before], ['running', 2]);
  });

  test('a call that hangs fails after its time, and the plugin comes back', async () => {
    const rows = [{ a: 'hang' }, { a: 'two' }];
    const [first, second] = await rule.results(`SELECT ${of('hang')}(a) AS r FROM s`, rows);
    assert.match(JSON.stringify(first), /the plugin gave no answer within 1000 ms/);
    assert.equal(second, { r: 'two' });
  });

  test('a plugin that was killed comes back, and no row is lost', async () => {
    const { pid } = await status();
    process.kill(pid, 'SIGKILL');
    assert.equal(await rule.results(`SELECT ${of('revert')}(a) AS r FROM s`, [{ a: 'abc' }]), [{ r: 'cba' }]);
    await eventually('the restart', async () => {
      const now = await status();
      return now.status === 'running' && now.pid !== pid;
    });
  });
}

test.run();
