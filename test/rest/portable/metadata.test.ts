/** Sources and sinks of portable plugins in the lists and forms of user interfaces, as their archives describe them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { freshName, pythonPlugin } from '../../support/plugins/portable.js';

const data = temporaryFolder();
const env = { KUIPER__BASIC__CONSOLELOG: 'true' };
let server = await startServer({ data, env });
test.after(async () => {
  await server.stop();
});

const get = async (path: string) => (await server.request('GET', path)).json;
const names = async (path: string) => ((await get(path)) as { name: string }[]).map(({ name }) => name);

const texts = (en: string, zh: string) => ({ en_US: en, zh_CN: zh });
const about = {
  trial: true,
  author: { name: 'A', email: 'a@b.c', company: 'C', website: 'https://b.c' },
  helpUrl: texts('https://b.c/en', 'https://b.c/zh'),
  description: texts('Reads the meter.', '读取仪表。'),
};
const speed = { name: 'speed', default: 9600, optional: false, control: 'text', type: 'int' };
const field = { ...speed, hint: texts('Bits a second', '每秒位数'), label: texts('Speed', '速度') };
const pattern = { name: 'pattern', default: [field], control: 'list', type: 'list_object', optional: true };
/** What a plugin writes, and what clients get of it. */
const shownField = {
  exist: false,
  ...speed,
  connection_related: false,
  values: null,
  hint: { en: 'Bits a second', zh: '每秒位数' },
  label: { en: 'Speed', zh: '速度' },
};
const shownAbout = {
  ...about,
  installed: true,
  helpUrl: { en: 'https://b.c/en', zh: 'https://b.c/zh' },
  description: { en: 'Reads the meter.', zh: '读取仪表。' },
};

const name = freshName('forms');
const of = (part: string) => `${part}_${name}`;
const json = (path: string, content: object) => ({ name: path, content: JSON.stringify(content) });
const sourceForm = {
  about,
  libs: [],
  dataSource: { default: 'tty', hint: texts('Port', '端口'), label: texts('Port', '端口') },
  properties: { default: [field, pattern] },
  node: { category: 'source', icon: 'iconPath', label: texts('Meter', '仪表') },
};
const file = pythonPlugin(name, {
  program: '',
  sources: [of('meter'), of('plain'), 'random'],
  sinks: [of('lamp'), of('bare'), of('odd')],
  files: [
    json(`sources/${of('meter')}.json`, sourceForm),
    { name: `sources/${of('meter')}.yaml`, content: 'default:\n  speed: 9600\nslow:\n  speed: 300\n' },
    { name: 'sources/random.yaml', content: 'default:\n  interval: 1\n' },
    json(`sinks/${of('lamp')}.json`, { about: { description: { zh_CN: '点亮灯。' } }, properties: [field] }),
    { name: `sinks/${of('lamp')}.yaml`, content: 'dim:\n  watts: 5\n' },
    { name: `sinks/${of('odd')}.json`, content: '{"about": ' },
  ],
});

test('a form of the archive is shown in both languages', async () => {
  const random = await get('/metadata/sources/random');
  const made = await server.request('POST', '/plugins/portables', { name, file });
  assert.is(made.status, 201, made.text);
  const list = (await get('/metadata/sources')) as { name: string }[];
  assert.equal(
    list.find((one) => one.name === of('meter')),
    { name: of('meter'), about: shownAbout, type: 'portable' },
  );
  assert.equal(
    list.map((one) => one.name),
    list.map((one) => one.name).sort(),
  );
  const { properties, dataSource, node, outputs, ...rest } = await get(`/metadata/sources/${of('meter')}`);
  assert.equal(rest, { about: shownAbout, libs: [], type: 'portable' });
  const nested = { ...shownField, name: 'pattern', default: [shownField], control: 'list', type: 'list_object' };
  const noTexts = { hint: { en: '', zh: '' }, label: { en: '', zh: '' } };
  assert.equal(properties, { default: [shownField, { ...nested, ...noTexts, optional: true }] });
  assert.equal([dataSource.default, dataSource.hint.zh, node.label.zh], ['tty', '端口', '仪表']);
  assert.is(outputs.length, 1);
  // The engine's own source of a name goes before that of a plugin.
  assert.equal(await get('/metadata/sources/random'), random);
});

test('a sink with its form has a list of properties, and texts of one language are there in both', async () => {
  const { about: shown, properties, node, type } = await get(`/metadata/sinks/${of('lamp')}`);
  assert.equal(shown.description, { en: '点亮灯。', zh: '点亮灯。' });
  assert.equal([properties, node.category, type], [[shownField], 'sink', 'portable']);
});

test('what brings no form is there with the properties that the engine reads', async () => {
  const source = await get(`/metadata/sources/${of('plain')}`);
  assert.match(source.about.description.en, new RegExp(`portable plugin ${name}`));
  assert.match(source.about.description.zh, /便携插件/);
  const sink = await get(`/metadata/sinks/${of('bare')}`);
  const ack = sink.properties.find((one: { name: string }) => one.name === 'requireAck');
  assert.equal([ack.label.zh, sink.type], ['需要确认', 'portable']);
});

test('a form that can not be read does no harm, and the log tells why', async () => {
  const { about: shown } = await get(`/metadata/sinks/${of('odd')}`);
  assert.match(shown.description.en, /portable plugin/);
  const reason = new RegExp(`sinks/${of('odd')}\\.json of the archive can't be shown: .*JSON`);
  await eventually('the line of the log', () => reason.test(server.output()));
});

test('configuration keys of the archive are those of its sources and sinks, and of no others', async () => {
  assert.equal(await get(`/metadata/sources/yaml/${of('meter')}`), { default: { speed: 9600 }, slow: { speed: 300 } });
  assert.equal(await get(`/metadata/sinks/yaml/${of('lamp')}`), { dim: { watts: 5 } });
  assert.equal((await get('/metadata/resource'))[of('meter')].slow, { speed: 300 });
  assert.is.not((await get('/metadata/sources/yaml/random')).default?.interval, 1);
  const key = `/metadata/sources/${of('plain')}/confKeys/none`;
  assert.match((await server.request('DELETE', key)).json.message, /none of .* is not found/);
});

test('the next start shows them as well', async () => {
  await server.stop();
  server = await startServer({ data, env });
  assert.equal((await get(`/metadata/sources/${of('meter')}`)).about, shownAbout);
  assert.equal((await get(`/metadata/sources/yaml/${of('meter')}`)).slow, { speed: 300 });
});

test('another version shows its own, and nothing is left when the plugin is deleted', async () => {
  const next = pythonPlugin(name, { program: '', sources: [of('other')] });
  assert.is((await server.request('PUT', `/plugins/portables/${name}`, { name, file: next })).status, 200);
  const sources = await names('/metadata/sources');
  assert.equal([sources.includes(of('other')), sources.includes(of('meter'))], [true, false]);
  assert.not((await names('/metadata/sinks')).includes(of('lamp')));
  assert.is((await server.request('DELETE', `/plugins/portables/${name}`)).status, 200);
  for (const path of [`sources/${of('other')}`, `sources/${of('meter')}`, `sinks/${of('lamp')}`]) {
    assert.is((await server.request('GET', `/metadata/${path}`)).status, 400, path);
  }
  assert.is((await server.request('GET', `/metadata/sources/yaml/${of('meter')}`)).status, 400);
  assert.not((await names('/metadata/sources')).includes(of('other')));
});

test.run();
