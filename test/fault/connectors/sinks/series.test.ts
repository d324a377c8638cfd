/** Faults of servers for time series: InfluxDB 1.x, and VictoriaMetrics by remote write. */
import { test } from 'uvu';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { openVictoriaSide } from '../../../support/connectors/faults/victoria-side.js';
import { freePort, temporaryFolder } from '../../../support/harness.js';
import { type InfluxServer, needsInflux, needsVictoria, openInflux } from '../../../support/servers/time-series.js';

const login = ['rows', 'influx-secret-61'] as const;

async function influxSide() {
  const port = await freePort();
  const folder = temporaryFolder();
  let influx: InfluxServer;
  const side = {
    props: {
      ...{ addr: `http://127.0.0.1:${port}`, database: 'plant', username: login[0], password: login[1] },
      ...{ measurement: 'rows', fields: ['id', 'flag'], tags: { point: '{{.id}}' }, timeout: 3000 },
    },
    start: async () => {
      influx = await openInflux({ port, folder, login });
    },
    kill: () => influx.close(),
    pause: () => influx.pause(),
    resume: () => influx.resume(),
    close: () => influx.close(),
    arrived: async () => (await influx.query('SELECT id FROM rows')).map((row) => Number(row.id)),
    refusal: {
      props: { password: 'influx-wrong-62' },
      reason: /authorization failed/,
      secret: 'influx-wrong-62',
    },
    tls: {
      props: (to: number) => ({ addr: `https://127.0.0.1:${to}` }),
      plainPort: port,
      secret: login[1],
    },
    rejects: {
      /** The field is a number from now on. */
      prepare: () => fetch(`${side.props.addr}/write?db=plant`, { method: 'POST', body: 'rows flag=1', headers: auth }),
      row: { flag: 'text' },
      reason: /field type conflict/,
    },
  };
  const auth = { Authorization: `Basic ${Buffer.from(login.join(':')).toString('base64')}` };
  await side.start();
  return side;
}

const keyed = { empty: 'it takes rows, not messages', full: 'the server ends, or drops points itself' };

if (needsInflux('faults of InfluxDB')) sinkFaults(test, 'influx', influxSide, { lacks: keyed });

if (needsVictoria('faults of VictoriaMetrics')) {
  sinkFaults(
    test,
    'prometheus',
    async () => {
      const side = await openVictoriaSide();
      const url = `${side.addr}/api/v1/write`;
      return Object.assign(side, {
        props: { url, fields: ['id'], labels: { point: '{{.id}}' }, timeout: 3000 },
        rejects: { row: (id: number) => ({ id: `no number ${id}` }), reason: /no number/ },
      });
    },
    { lacks: { ...keyed, refusal: 'the server asks for no login' } },
  );
}

test.run();
