/** Faults of InfluxDB 2, as which VictoriaMetrics takes points; it knows no tokens, so a double refuses them. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { openVictoriaSide } from '../../../support/connectors/faults/victoria-side.js';
import { openHttp } from '../../../support/connectors/http-server.js';
import { needsVictoria } from '../../../support/servers/time-series.js';

/** What an InfluxDB 2 answers to a token that it does not know. */
async function openRefusing() {
  const double = await openHttp();
  double.answer = (response) => {
    response.statusCode = 401;
    response.end(JSON.stringify({ code: 'unauthorized', message: 'unauthorized access' }));
  };
  return double;
}

async function openSide() {
  const side = await openVictoriaSide();
  const refusing = await openRefusing();
  return Object.assign(side, {
    props: {
      ...{ addr: side.addr, org: 'plant', bucket: 'rows', token: 'influx-secret-63', timeout: 3000 },
      ...{ measurement: 'rows', fields: ['id'], tags: { point: '{{or .point .id}}' } },
    },
    refusal: {
      props: { addr: refusing.url, token: 'influx-wrong-64' },
      reason: /unauthorized access/,
      secret: 'influx-wrong-64',
    },
    rejects: {
      row: (id: number) => ({ point: `no point ${id}\\` }),
      reason: /ends with a backslash/,
    },
    tls: { ...side.tls, props: (to: number) => ({ addr: `https://127.0.0.1:${to}` }), secret: 'influx-secret-63' },
    close: async () => {
      await refusing.close();
      await side.kill();
    },
  });
}

if (needsVictoria('faults of InfluxDB 2')) {
  const lacks = { empty: 'it takes rows, not messages', full: 'the server ends, or drops points itself' };
  sinkFaults(test, 'influx2', openSide, { lacks });
}

test.run();
