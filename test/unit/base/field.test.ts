import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { mask } from '../../../host/base/fields/declared-secrets.js';
import { describe, field, parse } from '../../../host/base/fields/field.js';
import { unmask } from '../../../host/base/secrets/unmask.js';
import { formatDuration, parseDuration } from '../../../host/base/time/duration.js';

const spec = {
  qos: field.int().min(0).max(2).default(0).doc('MQTT quality of service'),
  server: field.string().required().alias('url'),
  clean: field.bool().default(true),
  interval: field.duration().default(10_000),
  mode: field.string().oneOf('fast', 'slow').default('fast'),
  headers: field.object(),
  topics: field.list(field.string()).default([]),
  tls: field.object({ cert: field.string(), verify: field.bool().default(true) }),
  pass: field.secret(),
};

test('fills defaults and coerces texts', () => {
  const conf = parse(spec, { server: 'x', qos: '1', clean: 'false', interval: '1m30s' });
  assert.is(conf.qos, 1);
  assert.is(conf.clean, false);
  assert.is(conf.interval, 90_000);
  assert.is(conf.mode, 'fast');
  assert.equal(conf.tls, { cert: undefined, verify: true });
  assert.equal(conf.topics, []);
  assert.is(conf.headers, undefined);
});

test('accepts any letter case, aliases and lists as text', () => {
  const conf = parse(spec, { URL: 'x', QoS: 2, mode: 'SLOW', topics: '[a, b]' });
  assert.is(conf.server, 'x');
  assert.is(conf.qos, 2);
  assert.is(conf.mode, 'slow');
  assert.equal(conf.topics, ['a', 'b']);
});

const refusals: [unknown, RegExp][] = [
  [{}, /mqtt source: property server is required/],
  [{ server: 'x', qos: 3 }, /property qos must be at most 2, not 3/],
  [{ server: 'x', qos: '1.5' }, /property qos must be an integer, not "1.5"/],
  [{ server: 'x', clean: 'maybe' }, /property clean must be true or false, not "maybe"/],
  [{ server: 'x', interval: 'soon' }, /property interval must be a duration/],
  [{ server: 'x', mode: 'medium' }, /property mode must be one of fast, slow, not "medium"/],
  [{ server: 'x', tls: { verify: 5 } }, /property tls.verify must be true or false, not 5/],
  [{ server: 'x', tls: 'nope' }, /property tls must be an object/],
  [{ server: 'x', topics: [{}] }, /property topics\[0\] must be a text/],
  [{ server: 'x', serverr: 1 }, /property serverr is not known, did you mean server\?/],
  [[], /must be an object, not \[\]/],
];

for (const [input, reason] of refusals) {
  test(`refuses ${JSON.stringify(input)}`, () => {
    assert.throws(() => parse(spec, input, { where: 'mqtt source', unknown: 'reject' }), reason);
  });
}

test('never repeats a secret in an error', () => {
  assert.throws(
    () => parse(spec, { server: 'x', pass: { a: 'hidden' } }),
    (error: Error) => !/hidden/.test(error.message),
  );
});

test('masks declared secrets and unknown ones by name', () => {
  const shown = mask(spec, { pass: 'p', qos: 1, password: 'q', headers: { token: 't', other: 1 }, empty: '' });
  assert.equal(shown, {
    pass: '******',
    qos: 1,
    password: '******',
    headers: { token: '******', other: 1 },
    empty: '',
  });
});

test('keeps stored secrets over a masked round trip', () => {
  const stored = { pass: 'p', headers: { token: 't' }, qos: 1 };
  assert.equal(unmask(mask(spec, stored), stored), stored);
});

test('masks passwords of URLs and within lists, and keeps them over a round trip', () => {
  const stored = {
    url: 'mysql://me:p@ss@host:3306/db?a=b@c',
    open: 'tcp://host:1883/a:b@c',
    user: 'http://me@host',
    reference: 'tcp://me:{{env://PW}}@host',
    hosts: ['amqp://a:b@h', 'amqp://h'],
    nodes: [{ password: 'x' }, { password: 'y' }],
  };
  const masked = mask({}, stored);
  assert.equal(masked, {
    ...stored,
    url: 'mysql://me:******@host:3306/db?a=b@c',
    hosts: ['amqp://a:******@h', 'amqp://h'],
    nodes: [{ password: '******' }, { password: '******' }],
  });
  assert.equal(unmask(masked, stored), stored);
  const other = { url: 'mysql://me:******@other/db' };
  assert.equal(unmask(other, stored), other, 'a password is not sent to another host');
});

test('describes every property', () => {
  const info = describe(spec);
  assert.is(info.length, Object.keys(spec).length);
  assert.is(info[0]?.doc, 'MQTT quality of service');
  assert.is(info.find((item) => item.name === 'interval')?.default, '10s');
  assert.is(info.find((item) => item.name === 'pass')?.isSecret, true);
});

test('reads and prints durations', () => {
  assert.is(parseDuration('1h2m3.5s'), 3_723_500);
  assert.is(parseDuration('250'), 250);
  assert.is(parseDuration('-5ms'), -5);
  assert.is(parseDuration('5 apples'), undefined);
  assert.is(parseDuration(''), undefined);
  assert.is(formatDuration(10), '10ms');
  assert.is(formatDuration(90_000), '1m30s');
  assert.is(formatDuration(3_600_000), '1h0m0s');
  assert.is(formatDuration(0.5), '500µs');
});

test('an object may be made of rows as the text of its JSON, where the property says so', () => {
  const headers = field.map().default({}).dynamic();
  const spec = { headers: headers.dynamic(() => undefined) };
  for (const text of ['{{.h}}', '{"n":{{.n}}}']) {
    assert.equal(parse(spec, { headers: text }), { headers: {} });
    assert.throws(() => parse({ headers }, { headers: text }), /headers must be an object/);
  }
  assert.equal(parse(spec, { headers: '{"n":"{{.n}}"}' }), { headers: { n: '{{.n}}' } });
  assert.throws(() => parse(spec, { headers: 'none' }), /headers must be an object/);
  const made = { headers: spec.headers.rendered() };
  assert.equal(parse(made, { headers: '{"n":5}' }), { headers: { n: 5 } });
  assert.throws(() => parse(made, { headers: '{{' }), /headers must be an object/);
});

test.run();
