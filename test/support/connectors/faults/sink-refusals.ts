/** What is refused before a message is sent: passwords, certificates, properties. */
import * as assert from 'uvu/assert';
import { describe } from '../../../../host/base/fields/field.js';
import { loadConnector } from '../../../../host/connectors/index.js';
import { eventually } from '../../harness.js';
import { openTls, selfSigned } from '../../servers/tls.js';
import type { SinkTrial } from './sink-side.js';
import { briefEnd } from './site.js';
import { wrongFor } from './wrong-props.js';

/** What a connection says when the other side does not answer TLS with TLS. */
const noTls = /TLS|SSL|wrong version|packet length|ECONNRESET|EPROTO|hang up|closed|in time|timeout|secure connection/i;

export function addRefusals(trial: SinkTrial): void {
  trial.test(
    'a wrong password is named, and shown nowhere',
    async () => {
      const { site } = trial;
      const { props, reason, secret } = trial.side.refusal!;
      const id = await site.rule(await site.rows(trial.fresh(10), 10), trial.action(props), briefEnd);
      await trial.told(id, reason);
      await site.hides(secret, id);
      await site.delete(id);
    },
    'refusal',
  );

  trial.test(
    'a certificate that is not trusted is named, and nothing is sent',
    async () => {
      const certificate = selfSigned();
      const double = await openTls(certificate, trial.side.tls!.greeting);
      await refusesTls(trial, double.port, selfSigned().raw, /self.signed certificate|unable to verify/i);
      await double.close();
    },
    'tls',
  );

  trial.test(
    'a server that speaks no TLS where TLS is wanted is named, and nothing is sent',
    () => refusesTls(trial, trial.side.tls!.plainPort, selfSigned().raw, noTls),
    'tls',
  );

  trial.test('properties of a wrong type are refused by name, unknown ones are warned of', async () => {
    const { site, type } = trial;
    const from = trial.fresh(10);
    const stream = await site.rows(from, 10);
    const { sink } = await loadConnector('sink', type);
    let tried = 0;
    for (const { name, ...info } of describe(sink!.props)) {
      const value = info.isUnlisted ? undefined : wrongFor(info);
      if (value === undefined) continue;
      tried++;
      const rule = { id: 'wrong', sql: `SELECT * FROM ${stream}`, actions: [trial.action({ [name]: value })] };
      const { status, text } = await site.server.request('POST', '/rules', rule);
      assert.is(status, 400, `${name} ${JSON.stringify(value)}: ${status} ${text}`);
      assert.ok(text.includes(name), `${name} is not named: ${text}`);
    }
    assert.ok(tried > 0, 'no property was tried');
    const odd = trial.action({ no_such_property: 1 });
    const rule = { id: 'odd', sql: `SELECT * FROM ${stream}`, actions: [odd] };
    assert.match(await site.ask('POST', '/rules/validate', rule), /no_such_property is not known/);
    if (trial.lacks('rows')) return;
    const id = await site.rule(stream, odd);
    await trial.arrive(from, 10);
    await site.delete(id);
  });
}

/** A rule that is told to speak TLS to the port: its rows wait. */
async function refusesTls(trial: SinkTrial, port: number, otherCa: string, reason: RegExp): Promise<void> {
  const { site } = trial;
  const { props, secret } = trial.side.tls!;
  const id = await site.rule(await trial.flow(trial.fresh(10), 10), trial.action(props(port, otherCa)), briefEnd);
  const message = await eventually('the reason', async () => {
    return String(await site.figure(id, 'sink', 'connection_last_disconnected_message')) || undefined;
  });
  assert.match(message, reason);
  const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed } = await site.status(id);
  assert.equal([out, failed], [0, 0]);
  await site.worksBeside();
  if (secret !== undefined) await site.hides(secret, id);
  await site.delete(id);
}
