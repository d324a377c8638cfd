/** TLS of NATS, with a server that demands a certificate. */
import { test } from 'uvu';
import { edgexNames, type SecureSide, secureSide } from '../../support/connectors/tls.js';
import { freePort } from '../../support/harness.js';
import { needsNats, openNats, type TestNats } from '../../support/servers/nats.js';

async function open(given: Pick<SecureSide, 'part' | 'type' | 'props' | 'named'>): Promise<SecureSide> {
  const port = await freePort();
  let nats: TestNats | undefined;
  const address =
    given.type === 'edgex'
      ? { type: 'nats-core', protocol: 'tls', server: '127.0.0.1', port }
      : { server: `tls://127.0.0.1:${port}` };
  return {
    ...given,
    dataSource: 'rows',
    props: { ...address, ...given.props },
    start: async (own, trusted) => {
      const files = `cert_file: "${own.certFile}", key_file: "${own.keyFile}", ca_file: "${trusted.certFile}"`;
      const me = trusted.client('test');
      const login = { tls: { cert: me.cert, key: me.key, rejectUnauthorized: false } };
      nats = await openNats({ port, conf: `tls { ${files}, verify: true }`, login });
    },
    send: async () => nats?.client.publish('rows', '{"id":1}'),
    close: async () => nats?.close(),
  };
}

if (needsNats('TLS of NATS')) {
  secureSide(test, 'nats, source', () => open({ part: 'source', type: 'nats', props: {} }));
  secureSide(test, 'nats, sink', () => open({ part: 'sink', type: 'nats', props: { subject: 'out' } }));
  secureSide(test, 'edgex over NATS', () =>
    open({ part: 'sink', type: 'edgex', props: { topic: 'out' }, named: edgexNames }),
  );
}

test.run();
