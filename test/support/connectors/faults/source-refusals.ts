/** What is refused before a message comes: passwords, certificates, properties. */
import * as assert from 'uvu/assert';
import { describe } from '../../../../host/base/fields/field.js';
import { loadConnector } from '../../../../host/connectors/index.js';
import { eventually } from '../../harness.js';
import { openTls, selfSigned } from '../../servers/tls.js';
import type { SourceTrial } from './source-side.js';
import { wrongFor } from './wrong-props.js';

export function addSourceRefusals(trial: SourceTrial): void {
  trial.test(
    'a wrong password is named, and shown nowhere',
    async () => {
      const { site } = trial;
      const { props, reason, secret } = trial.side.refusal!;
      const { id } = await trial.reading(site, {}, props);
      await eventually('the reason', async () => reason.test(JSON.stringify(await site.status(id))));
      await site.hides(secret, id);
      await site.delete(id);
    },
    'refusal',
  );

  trial.test(
    'a certificate that is not trusted is named, and holds neither other rules nor the end of its own',
    async () => {
      const { site } = trial;
      const { props, greeting, secret } = trial.side.tls!;
      const double = await openTls(selfSigned(), greeting);
      const { id } = await trial.reading(site, {}, props(double.port, selfSigned().raw));
      const message = await eventually('the reason', async () => {
        return String(await site.figure(id, 'source', 'connection_last_disconnected_message')) || undefined;
      });
      assert.match(message, /self.signed certificate|unable to verify/i);
      assert.not.ok(await site.isConnected(id, 'source'));
      await site.worksBeside();
      if (secret !== undefined) await site.hides(secret, id);
      await site.delete(id);
      await double.close();
    },
    'tls',
  );

  trial.test('properties of a wrong type are refused by name, unknown ones are named', async () => {
    const { site, side, type } = trial;
    const { source } = await loadConnector('source', type);
    const path = `/metadata/sources/${type}/confKeys/wrong`;
    let tried = 0;
    for (const { name, ...info } of describe(source!.props)) {
      const value = info.isUnlisted ? undefined : wrongFor(info);
      if (value === undefined) continue;
      tried++;
      const { status, text } = await site.server.request('PUT', path, { ...side.props, [name]: value });
      assert.is(status, 400, `${name} ${JSON.stringify(value)}: ${status} ${text}`);
      assert.ok(text.includes(name), `${name} is not named: ${text}`);
    }
    assert.ok(tried > 0, 'no property was tried');
    assert.match(await site.ask('PUT', path, { ...side.props, no_such_property: 1 }), /no_such_property is not known/);
  });
}
