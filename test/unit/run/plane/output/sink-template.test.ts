/** Sinks with a `dataTemplate`: what goes out, and what happens to rows that can't be rendered. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleStart } from '../../../../../host/run/link/protocol.js';
import { openPlane, passRule } from '../../../../support/engine/plane.js';
import { temporaryFolder } from '../../../../support/harness.js';

async function run(rows: string[], props: Record<string, unknown>, change: Partial<RuleStart> = {}) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'in.txt'), rows.join('\n'));
  const out = join(folder, 'out.txt');
  const { plane, report } = await openPlane();
  const source = { type: 'file', dataSource: 'in.txt', props: { path: folder, fileType: 'lines' } };
  const rule = passRule(source, [{ type: 'file', props: { path: out, ...props } }], change);
  const [node] = rule.plan.nodes;
  if (node?.kind === 'encode') node.output.framing = 'messages';
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  await plane.close();
  return { text: readFileSync(out, 'utf8'), metrics };
}

test('each message is rendered, one per line in files', async () => {
  const { text, metrics } = await run(['{"a":1}', '{"a":2}'], { dataTemplate: 'v={{.a}}' });
  assert.is(text, 'v=1\nv=2\n');
  assert.is(metrics.sink_file_0_0_records_out_total, 2);
});

test('fields are taken from what the template gives', async () => {
  const { text } = await run(['{"a":1}'], { dataTemplate: '{"v":{{.a}},"w":2}', fields: ['v', 'x'] });
  assert.is(text, '{"v":1,"x":null}\n');
});

test('dataField is taken from what the template gives', async () => {
  const { text } = await run(['{"a":1}'], { dataTemplate: '[{"v":{"w":{{.a}}}}]', dataField: 'v' });
  assert.is(text, '{"w":1}\n');
});

test('rows that cannot be rendered are counted as exceptions and the others go out', async () => {
  const { text, metrics } = await run(['{"a":1}', '{"a":"x"}', '{"a":3}'], {
    dataTemplate: '{{if lt .a 9}}{{.a}}{{end}}',
  });
  assert.is(text, '1\n3\n');
  assert.is(metrics.sink_file_0_0_exceptions_total, 1);
  assert.match(String(metrics.sink_file_0_0_last_exception), /sink file: dataTemplate: .*incompatible types/);
});

test('with sendError the error takes the place of the message', async () => {
  const { text } = await run(['{"a":1}', '{"a":"x"}'], { dataTemplate: '{{add .a 1}}{{.a.b}}' }, { sendError: true });
  assert.match(text, /^sink file: dataTemplate: template: sink:1: can't evaluate field b in type int64\nsink file: /);
});

test('a template that is wrong fails the start', async () => {
  const { plane, report } = await openPlane();
  const rule = passRule({ type: 'simulator', props: {} }, [{ type: 'log', props: { dataTemplate: '{{.a' } }]);
  await plane.start(rule);
  assert.match((await report(rule.run, 'failed')).reason, /unclosed action/);
  await plane.close();
});

test.run();
