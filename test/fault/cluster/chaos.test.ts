/** The chaos of clusters on itself, some rounds; 100 of them: `haumea bench cluster chaos --rounds 100`. */
import { spawn } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { possible } from '../../../bench/cluster/chaos/faults.js';
import type { ClusterChaosResult } from '../../../bench/cluster/chaos/run.js';
import { haumea } from '../../support/harness.js';
import { needsNats } from '../../support/servers/nats.js';

if (needsNats('chaos of a cluster')) {
  async function chaos(faults: string): Promise<void> {
    const kinds = faults.split(',');
    const options = { rounds: String(kinds.length), faults, qos: '1,2', rules: '2', rate: '20' };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    const child = spawn(process.execPath, [...haumea, 'bench', 'cluster', 'chaos', '--json', ...args]);
    const texts = ['', ''];
    child.stdout.on('data', (chunk) => (texts[0] += chunk));
    child.stderr.on('data', (chunk) => (texts[1] += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    assert.is(code, 0, texts.join('\n'));
    const { rounds, definitions, events } = JSON.parse(texts[0]!) as ClusterChaosResult;
    assert.equal(rounds.map(({ fault }) => fault).sort(), kinds.sort());
    assert.ok(definitions.acknowledged > 0);
    assert.equal(Object.keys(events), ['q1_0', 'q1_1', 'q2_0', 'q2_1']);
    for (const { sent, lost, wrong } of Object.values(events)) assert.ok(sent > 0 && lost === 0 && wrong === 0);
  }

  test('nodes are killed, stopped for a while and cut off, and NATS loses its leader: nothing is lost', () =>
    chaos('kill,leader,stop,cut'));

  test('all nodes are upgraded under load, a disk is full and a clock jumps: nothing is lost', () =>
    chaos(possible(['upgrade', 'disk', 'clock']).join()));
}

test.run();
