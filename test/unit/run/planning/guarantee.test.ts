/** What a rule promises by its sources, sinks and `qos`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { SinkSpec, SourceSpec } from '../../../../host/run/link/protocol.js';
import { guaranteeOf, type Writer } from '../../../../host/run/planning/guarantee.js';
import type { NodePlan } from '../../../../kernels/plan/ir.js';

const source = (type: string, props: object = {}) => ({ name: 's', type, props }) as SourceSpec;
const sink = (type: string, props: object = {}) => ({ type, props }) as SinkSpec;
const file = source('file', { path: '/x' });
const broker = source('mqtt', { server: 'tcp://h:1', qos: 1, clientid: 'c', enableClientSession: true });
const memory = source('memory');
const outFile = sink('file', { path: '/out' });
const ledger = sink('ledger', { port: 1 });
const topic = sink('memory', { topic: 't' });

test('without an input log messages of a broker may come again, rows of a file do not', () => {
  const of = (from: SourceSpec) => guaranteeOf(2, [from], [outFile], [], () => [], false);
  assert.is(of(file).guarantee, 'exactly once');
  assert.is(of(broker).guarantee, 'at least once');
  assert.equal(of(broker).because, ['stream s: messages may come again that a checkpoint has']);
});

test('a rule of a cluster goes on with its file where all nodes see it', () => {
  const provided = (to: SinkSpec, hasLogs: boolean) =>
    guaranteeOf(2, [file], [to], [], () => [], hasLogs).provided.filter((one) => one.startsWith('sink'));
  assert.equal(provided(outFile, false), [
    'sink file: its file is on a file system that all nodes of the cluster share',
  ]);
  assert.equal([provided(outFile, true), provided(ledger, false)], [[], []]);
});

test('what is promised is what source and sink can do together', () => {
  const of = (qos: number, from: SourceSpec, to: SinkSpec) => guaranteeOf(qos, [from], [to]).guarantee;
  assert.equal(
    [outFile, ledger, topic].map((to) => [file, broker, memory].map((from) => of(2, from, to))),
    [
      ['exactly once', 'exactly once', 'at most once'],
      ['exactly once', 'exactly once', 'at most once'],
      ['exactly once', 'exactly once', 'at most once'],
    ],
  );
  assert.equal(guaranteeOf(2, [broker], [outFile]).provided, ['stream s: the broker keeps the session of client c']);
  assert.equal(guaranteeOf(2, [file], [outFile]).provided, []);
  assert.equal(
    [file, broker, memory].map((from) => of(1, from, outFile)),
    ['at least once', 'at least once', 'nothing'],
  );
  assert.is(of(0, file, outFile), 'nothing');
});

test('each reason for less is named', () => {
  const { because } = guaranteeOf(2, [memory, source('simulator')], [sink('nop'), topic, ledger]);
  assert.equal(because, [
    'stream s: no rule writes to its topic',
    "stream s: a simulator source can't go back",
    "sink nop: a nop sink can't take back what it sent",
  ]);
});

test('what holds for a topic is what holds for the rules that write to it', () => {
  const writer = (rule: string, from: SourceSpec, qos = 1, to: object = {}): Writer => ({
    rule,
    qos,
    sources: [from],
    sinks: [{ ...topic, ...to }],
  });
  const of = (...writers: Writer[]) => {
    const { guarantee, because, provided } = guaranteeOf(2, [memory], [outFile], [], () => writers);
    return [guarantee, ...because, ...provided];
  };
  assert.equal(of(writer('a', file), writer('b', file, 2)), ['exactly once']);
  assert.equal(of(writer('a', broker)), [
    'exactly once',
    'stream s: rule a, stream s: the broker keeps the session of client c',
  ]);
  assert.equal(of(writer('a', file, 0)), [
    'at most once',
    'stream s: rule a, which writes to it, has the option qos 0',
  ]);
  assert.equal(of(writer('a', source('httppush'))), [
    'at most once',
    "stream s: rule a, stream s: a httppush source can't go back",
  ]);
  assert.equal(of(writer('a', file, 1, { cache: {} })), [
    'at most once',
    'stream s: rule a, which writes to it, does so through a cache',
  ]);
  assert.equal(of(writer('a', memory)), [
    'at most once',
    'stream s: rule a, stream s: rule a, which writes to it, reads in the end what it writes',
  ]);
});

test('each setting that costs a guarantee is named', () => {
  const source = (props: object) =>
    guaranteeOf(2, [{ ...broker, props: { ...broker.props, ...props } } as SourceSpec], [outFile]);
  const lossOf = (props: object) => {
    const { guarantee, because } = source(props);
    assert.is(guarantee, 'at most once');
    return because[0]!;
  };
  assert.match(lossOf({ qos: 0 }), /subscribed with qos 0/);
  assert.match(lossOf({ qos: 2, enableClientSession: false }), /without enableClientSession/);
  const { guarantee, because, provided } = source({ qos: 2 });
  assert.equal([guarantee, because.length], ['exactly once', 0]);
  assert.match(provided[0]!, /the broker keeps the session of client/);
  assert.match(lossOf({ eofMessage: 'bye' }), /with eofMessage/);
  assert.match(lossOf({ enableClientSession: false }), /without enableClientSession/);
  assert.match(lossOf({ protocolVersion: '5' }), /without sessionExpiryIntervalSeconds/);
  for (const type of ['httppush', 'simulator']) {
    assert.is(guaranteeOf(2, [{ ...memory, type }], [outFile]).guarantee, 'at most once', type);
  }
  const again = (to: SinkSpec) => {
    const { guarantee, because } = guaranteeOf(2, [file], [to]);
    assert.is(guarantee, 'at least once');
    return because[0]!;
  };
  assert.match(again(sink('file', { path: '/{{.k}}' })), /a name made of rows/);
  assert.match(again(sink('file', { path: '/out', rollingSize: 10 })), /put aside when they are full/);
  assert.match(again({ ...outFile, cache: {} } as SinkSpec), /through a cache/);
  for (const type of ['log', 'nop']) assert.match(again(sink(type)), /can't take back/);
  assert.match(again(sink('mqtt', { server: 'tcp://h:1', topic: 't', qos: 2 })), /can't take back/);
});

test('ids of messages are told to be of use where the same rows make the same messages again', () => {
  const numbered = sink('mqtt', {
    server: 'tcp://h:1',
    topic: 't',
    qos: 1,
    protocolVersion: '5',
    messageIdProperty: 'id',
  });
  const node = (kind: string, more: object = {}) => ({ kind, ...more }) as unknown as NodePlan;
  const encode = node('encode', { output: {} });
  const window = (isEventTime: boolean) => node('window', { isEventTime, window: { kind: 'tumbling' } });
  const reason = (sources: SourceSpec[], nodes: NodePlan[], qos = 2) =>
    guaranteeOf(qos, sources, [numbered], nodes).because.at(-1)!;
  const known = /sink mqtt: .*; receivers know it by the user property "id"$/;
  const unknown = /; the user property "id" does not tell, since the rows may come in another order then$/;
  assert.match(reason([file], [node('filter'), encode]), known);
  assert.match(reason([file], [window(true), encode]), known);
  assert.match(reason([file], [window(false), encode]), unknown);
  assert.match(reason([file], [node('ask'), encode]), unknown);
  assert.match(reason([file, file], [encode]), unknown);
  assert.match(reason([broker], [encode]), unknown);
  assert.is(reason([file], [encode], 1), 'the option qos is 1');
});

test.run();
