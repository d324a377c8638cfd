/** What a rule promises by its sources, sinks and `qos`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { guaranteeOf } from '../../../host/run/guarantee.js';
import type { SinkSpec, SourceSpec } from '../../../host/run/link/protocol.js';

const source = (type: string, props: object = {}) => ({ name: 's', type, props }) as SourceSpec;
const sink = (type: string, props: object = {}) => ({ type, props }) as SinkSpec;
const file = source('file', { path: '/x' });
const broker = source('mqtt', { server: 'tcp://h:1', qos: 1, clientid: 'c', enableClientSession: true });
const memory = source('memory');
const outFile = sink('file', { path: '/out' });
const ledger = sink('ledger', { port: 1 });
const topic = sink('memory', { topic: 't' });

test('what is promised is what source and sink can do together', () => {
  const of = (qos: number, from: SourceSpec, to: SinkSpec) => guaranteeOf(qos, [from], [to]).guarantee;
  assert.equal(
    [outFile, ledger, topic].map((to) => [file, broker, memory].map((from) => of(2, from, to))),
    [
      ['exactly once', 'at least once', 'at most once'],
      ['exactly once', 'at least once', 'at most once'],
      ['at least once', 'at least once', 'nothing'],
    ],
  );
  assert.equal(
    [file, broker, memory].map((from) => of(1, from, outFile)),
    ['at least once', 'at least once', 'nothing'],
  );
  assert.is(of(0, file, outFile), 'nothing');
});

test('each reason for less is named', () => {
  const { because } = guaranteeOf(2, [memory], [topic, ledger]);
  assert.equal(because, [
    "stream s: a memory source can't go back",
    "sink memory: a memory sink can't take back what it sent",
  ]);
});

test.run();
